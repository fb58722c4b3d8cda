/* TLS: accepted and refused clients, transfer, ends of connections, and new certificates without a restart. */
#include "fixture.h"

#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "certificates.h"
#include "consult.h"
#include "tls_peer.h"

#define A_DAY 86400

/* The server of this program. The contexts of clients have a certificate, no certificate, one of another authority, or
 * an expired one. */
static struct {
    struct server server;
    int port;
    redisContext *plain;
    SSL_CTX *alice, *anonymous, *stranger, *expired;
} tls;

static const char *number_text(long long n) {
    return forever(text_of("%lld", n));
}

static void set_option(const char *name, const char *value) {
    expect(tls.plain, "+OK", "CONFIG SET %s %s", name, value);
}

static int start(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    certificate_authority("ca");
    certificate_authority("other");
    certificate_make("server", "ca", "localhost", A_DAY);
    certificate_make("alice", "ca", "alice", A_DAY);
    certificate_make("stranger", "other", "alice", A_DAY);
    certificate_make("expired", "ca", "alice", -60);
    tls.port = server_free_port();
    server_start(&tls.server, postgres_conninfo(&pg, NULL),
                 (const char *const[]){ "--tls-port", number_text(tls.port), "--tls-cert-file",
                                        certificate_path("server", "crt"), "--tls-key-file",
                                        certificate_path("server", "key"), "--tls-ca-cert-file",
                                        certificate_path("ca", "crt"), NULL });
    tls.plain = client_open_on(&tls.server);
    tls.alice = tls_peer_context("ca", "alice");
    tls.anonymous = tls_peer_context("ca", NULL);
    tls.stranger = tls_peer_context("ca", "stranger");
    tls.expired = tls_peer_context("ca", "expired");
    return 0;
}

static int stop(void **state) {
    (void)state;
    redisFree(tls.plain);
    SSL_CTX_free(tls.alice);
    SSL_CTX_free(tls.anonymous);
    SSL_CTX_free(tls.stranger);
    SSL_CTX_free(tls.expired);
    return server_stop(&tls.server);
}

static void open_alice(struct tls_peer *p) {
    assert_true(tls_peer_open(p, tls.port, tls.alice));
}

/* A client with TLS 1.3 hears of a refusal only when it reads. */
static bool gets_in(SSL_CTX *ctx) {
    struct tls_peer p;
    bool in = tls_peer_open(&p, tls.port, ctx) && strcmp(tls_peer_ask(&p, "PING"), "+PONG") == 0;

    tls_peer_close(&p);
    return in;
}

/* ---- accepted and refused clients ---- */

static void test_client_certificates(void **state) {
    long long failed;

    (void)state;
    assert_true(gets_in(tls.alice));
    failed = info_number(tls.plain, "tls_failures");
    assert_false(gets_in(tls.anonymous));
    assert_false(gets_in(tls.stranger));
    assert_false(gets_in(tls.expired));
    EVENTUALLY(info_number(tls.plain, "tls_failures") == failed + 3);
    EVENTUALLY(file_contains(tls.server.log, "certificate refused: certificate has expired"));
    set_option("tls-auth-clients", "optional");
    assert_true(gets_in(tls.alice));
    assert_true(gets_in(tls.anonymous));
    assert_false(gets_in(tls.stranger));
    assert_false(gets_in(tls.expired));
    set_option("tls-auth-clients", "no");
    assert_true(gets_in(tls.anonymous));
    assert_true(gets_in(tls.stranger));
    set_option("tls-auth-clients", "yes");
    assert_false(gets_in(tls.anonymous));
}

static void test_user_of_the_certificate(void **state) {
    struct tls_peer p;

    (void)state;
    set_option("tls-auth-clients-user", "CN");
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "ACL WHOAMI"), "$7");
    assert_string_equal(tls_peer_line(&p), "default");
    tls_peer_close(&p);
    expect(tls.plain, "+OK", "ACL SETUSER alice on +ping +acl|whoami");
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "ACL WHOAMI"), "$5");
    assert_string_equal(tls_peer_line(&p), "alice");
    assert_memory_equal(tls_peer_ask(&p, "QLEN q"), "-NOPERM", 7);
    tls_peer_close(&p);
    /* A user that is off is not logged in. */
    expect(tls.plain, "+OK", "ACL SETUSER alice off");
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "ACL WHOAMI"), "$7");
    tls_peer_close(&p);
    set_option("tls-auth-clients-user", "off");
}

static void test_server_certificate_is_valid(void **state) {
    SSL_CTX *ctx = tls_peer_context("other", "alice");

    (void)state;
    assert_false(gets_in(ctx));
    SSL_CTX_free(ctx);
}

/* The system's configuration may refuse old versions, too. The client lowers its own level for them. */
static bool version_gets_in(int version) {
    SSL_CTX *ctx = tls_peer_context("ca", "alice");
    bool in;

    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    in = gets_in(ctx);
    SSL_CTX_free(ctx);
    return in;
}

static void test_versions(void **state) {
    (void)state;
    assert_true(version_gets_in(TLS1_2_VERSION));
    assert_true(version_gets_in(TLS1_3_VERSION));
    assert_false(version_gets_in(TLS1_1_VERSION));
    set_option("tls-protocols", "TLSv1.2");
    assert_true(version_gets_in(TLS1_2_VERSION));
    assert_false(version_gets_in(TLS1_3_VERSION));
    set_option("tls-protocols", "TLSv1.3");
    assert_false(version_gets_in(TLS1_2_VERSION));
    expect_start(tls.plain, "-ERR tls-protocols takes", "CONFIG SET tls-protocols TLSv1.1");
    expect(tls.plain, "[\"tls-protocols\" \"TLSv1.3\"]", "CONFIG GET tls-protocols");
    assert_true(version_gets_in(TLS1_3_VERSION));
    freeReplyObject(redisCommand(tls.plain, "CONFIG SET tls-protocols %s", ""));
    assert_true(version_gets_in(TLS1_2_VERSION));
}

static void cipher_is(int version, const char *name) {
    SSL_CTX *ctx = tls_peer_context("ca", "alice");
    struct tls_peer p;

    SSL_CTX_set_max_proto_version(ctx, version);
    assert_true(tls_peer_open(&p, tls.port, ctx));
    assert_string_equal(SSL_get_cipher_name(p.ssl), name);
    tls_peer_close(&p);
    SSL_CTX_free(ctx);
}

static void test_ciphers(void **state) {
    (void)state;
    set_option("tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256");
    set_option("tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256");
    cipher_is(TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256");
    cipher_is(TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256");
    set_option("tls-prefer-server-ciphers", "yes");
    set_option("tls-ciphersuites", "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384");
    cipher_is(TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256");
    expect_start(tls.plain, "-ERR tls-ciphers has no cipher", "CONFIG SET tls-ciphers NONSENSE");
    expect_start(tls.plain, "-ERR tls-ciphersuites has a cipher", "CONFIG SET tls-ciphersuites NONSENSE");
    set_option("tls-prefer-server-ciphers", "no");
    freeReplyObject(redisCommand(tls.plain, "CONFIG SET tls-ciphers %s tls-ciphersuites %s", "", ""));
    assert_true(gets_in(tls.alice));
}

/* ---- new certificates ---- */

static long serial_of_server(void) {
    struct tls_peer p;
    X509 *cert;
    long serial;

    open_alice(&p);
    cert = SSL_get1_peer_certificate(p.ssl);
    serial = ASN1_INTEGER_get(X509_get0_serialNumber(cert));
    X509_free(cert);
    tls_peer_close(&p);
    return serial;
}

static void spoil_file(const char *path) {
    FILE *f = fopen(path, "w");

    fputs("nonsense\n", f);
    fclose(f);
}

static void test_reload_by_config_set(void **state) {
    long before = serial_of_server();
    struct tls_peer old;

    (void)state;
    open_alice(&old);
    expect_start(tls.plain, "-ERR cannot load tls-cert-file", "CONFIG SET tls-cert-file /nonexistent");
    expect_start(tls.plain, "-ERR cannot use tls-key-file", "CONFIG SET tls-key-file %s",
                 certificate_path("alice", "key"));
    assert_int_equal(serial_of_server(), before);
    certificate_make("server2", "ca", "localhost", A_DAY);
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s",
           certificate_path("server2", "crt"), certificate_path("server2", "key"));
    assert_true(serial_of_server() > before);
    assert_string_equal(tls_peer_ask(&old, "PING"), "+PONG");
    tls_peer_close(&old);
    /* The same name loads the file again. */
    before = serial_of_server();
    certificate_make("server2", "ca", "localhost", A_DAY);
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s", certificate_path("server2", "crt"));
    assert_true(serial_of_server() > before);
}

static void test_doctor_of_the_certificate(void **state) {
    (void)state;
    assert_true(finds(tls.plain, "warning certificate", "expires in"));
    certificate_make("long", "ca", "localhost", 40L * A_DAY);
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", certificate_path("long", "crt"),
           certificate_path("long", "key"));
    assert_false(finds(tls.plain, "warning certificate", ""));
    assert_false(finds(tls.plain, "error certificate", ""));
    certificate_make("ended", "ca", "localhost", -60);
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", certificate_path("ended", "crt"),
           certificate_path("ended", "key"));
    assert_true(finds(tls.plain, "error certificate", "has expired"));
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", certificate_path("server", "crt"),
           certificate_path("server", "key"));
}

static void test_reload_by_signal(void **state) {
    long before;

    (void)state;
    expect(tls.plain, "+OK", "CONFIG SET tls-cert-file %s tls-key-file %s", certificate_path("server", "crt"),
           certificate_path("server", "key"));
    before = serial_of_server();
    certificate_make("server", "ca", "localhost", A_DAY);
    assert_int_equal(serial_of_server(), before);
    kill(tls.server.pid, SIGHUP);
    EVENTUALLY(serial_of_server() > before);
    before = serial_of_server();
    spoil_file(certificate_path("server", "crt"));
    kill(tls.server.pid, SIGHUP);
    EVENTUALLY(
        file_contains(tls.server.log, "the previous certificates stay in use: cannot load tls-cert-file"));
    assert_int_equal(serial_of_server(), before);
    certificate_make("server", "ca", "localhost", A_DAY);
    kill(tls.server.pid, SIGHUP);
    EVENTUALLY(serial_of_server() > before);
}

/* ---- data ---- */

/* Bytes that differ at each place. */
static char *pattern(size_t len) {
    char *bytes = malloc(len);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)('a' + i * 31 % 1009 % 26);
    return bytes;
}

static void push_bytes(struct tls_peer *p, const char *queue, const char *bytes, size_t len) {
    const char *head = text_of("*3\r\n$5\r\nRPUSH\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(queue), queue, len);

    assert_true(tls_peer_send(p, head, strlen(head)));
    assert_true(tls_peer_send(p, bytes, len));
    assert_true(tls_peer_send(p, "\r\n", 2));
}

static void take_bytes(struct tls_peer *p, const char *bytes, size_t len) {
    char *got = malloc(len + 2);

    assert_string_equal(tls_peer_line(p), text_of("$%zu", len));
    assert_true(tls_peer_read(p, got, len + 2));
    assert_memory_equal(got, bytes, len);
    free(got);
}

/* All commands are sent before the first reply is read. So the output fills the socket, and waits in the server. */
static void test_large_data_both_ways(void **state) {
    const size_t sizes[] = { 1, 100, 16383, 16384, 16385, 100000, 3000000 };
    char *bytes = pattern(3000000);
    struct tls_peer p;

    (void)state;
    open_alice(&p);
    for (size_t i = 0; i < 7; i++)
        push_bytes(&p, "large", bytes, sizes[i]);
    for (long long i = 0; i < 7; i++)
        assert_string_equal(tls_peer_line(&p), text_of(":%lld", i + 1));
    for (int i = 0; i < 7 * 4; i++)
        assert_true(tls_peer_send(&p, text_of("LINDEX large %d\r\n", i % 7), strlen("LINDEX large 0\r\n")));
    EVENTUALLY(info_number(tls.plain, "mem_output") > 1000000);
    for (int i = 0; i < 7 * 4; i++)
        take_bytes(&p, bytes, sizes[i % 7]);
    assert_string_equal(tls_peer_ask(&p, "PING"), "+PONG");
    tls_peer_close(&p);
    free(bytes);
}

static void test_thousands_of_small_commands(void **state) {
    enum { COMMANDS = 20000 };
    struct tls_peer p;
    char *all = malloc(COMMANDS * 6 + 1);

    (void)state;
    for (int i = 0; i < COMMANDS; i++)
        memcpy(all + i * 6, "PING\r\n", 6);
    open_alice(&p);
    assert_true(tls_peer_send(&p, all, COMMANDS * 6));
    for (int i = 0; i < COMMANDS; i++)
        assert_string_equal(tls_peer_line(&p), "+PONG");
    /* A record for each byte. */
    for (int i = 0; i < 600; i++)
        assert_true(tls_peer_send(&p, all + i, 1));
    for (int i = 0; i < 100; i++)
        assert_string_equal(tls_peer_line(&p), "+PONG");
    tls_peer_close(&p);
    free(all);
}

/* Messages are pieces that several clients share. They are gathered to records. */
static void test_messages(void **state) {
    enum { MESSAGES = 300, BYTES = 5000 };
    struct tls_peer p;
    char *bytes = pattern(BYTES), line[BYTES + 2];

    (void)state;
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "SUBSCRIBE news"), "*3");
    for (int i = 0; i < 5; i++)
        tls_peer_line(&p);
    for (int i = 0; i < MESSAGES; i++)
        expect(tls.plain, ":1", "PUBLISH news %b", bytes, (size_t)(i % 2 ? BYTES : 3));
    for (int i = 0; i < MESSAGES; i++) {
        size_t len = i % 2 ? BYTES : 3;

        assert_string_equal(tls_peer_line(&p), "*3");
        for (int line_number = 0; line_number < 4; line_number++)
            tls_peer_line(&p);
        assert_string_equal(tls_peer_line(&p), text_of("$%zu", len));
        assert_true(tls_peer_read(&p, line, len + 2));
        assert_memory_equal(line, bytes, len);
    }
    tls_peer_close(&p);
    free(bytes);
}

/* ---- ends ---- */

static void test_half_close(void **state) {
    struct tls_peer p;

    (void)state;
    open_alice(&p);
    assert_true(tls_peer_send(&p, "PING\r\nADDJOB half x 0\r\nPING\r\n", 29));
    SSL_shutdown(p.ssl);
    assert_string_equal(tls_peer_line(&p), "+PONG");
    assert_memory_equal(tls_peer_line(&p), "+D-", 3);
    assert_string_equal(tls_peer_line(&p), "+PONG");
    assert_string_equal(tls_peer_line(&p), "closed");
    tls_peer_close(&p);
    /* The end of TCP without that of TLS. */
    open_alice(&p);
    assert_true(tls_peer_send(&p, "PING\r\nQLEN half\r\n", 17));
    shutdown(p.fd, SHUT_WR);
    assert_string_equal(tls_peer_line(&p), "+PONG");
    assert_string_equal(tls_peer_line(&p), ":1");
    assert_string_equal(tls_peer_line(&p), "closed");
    tls_peer_close(&p);
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "QUIT"), "+OK");
    assert_string_equal(tls_peer_line(&p), "closed");
    tls_peer_close(&p);
}

/* A client that waits for a job and goes takes no job with it, however it goes. */
static void test_blocked_client_goes(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct linger reset = { 1, 0 };
        struct tls_peer p;

        open_alice(&p);
        assert_true(tls_peer_send(&p, "GETJOB FROM gone\r\n", 18));
        EVENTUALLY(info_number(tls.plain, "blocked_clients") == 1);
        if (way == 0)
            SSL_shutdown(p.ssl);
        else if (way == 1)
            setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        if (way > 0)
            tls_peer_close(&p);
        EVENTUALLY(info_number(tls.plain, "blocked_clients") == 0);
        tls_peer_close(&p);
        add_job(tls.plain, "gone", "body", "");
        get_job(tls.plain, "gone", "body");
    }
}

static void test_blocked_client_gets_its_job(void **state) {
    struct tls_peer p;

    (void)state;
    open_alice(&p);
    assert_true(tls_peer_send(&p, "GETJOB FROM wakes\r\n", 19));
    EVENTUALLY(info_number(tls.plain, "blocked_clients") == 1);
    add_job(tls.plain, "wakes", "body", "");
    assert_string_equal(tls_peer_line(&p), "*1");
    tls_peer_close(&p);
}

/* ---- clients that do not do TLS as they should ---- */

static void test_plain_text_on_the_tls_port(void **state) {
    struct wire w;
    char line[128];

    (void)state;
    wire_open(&w, "127.0.0.1", tls.port);
    assert_true(wire_send_text(&w, "PING\r\n"));
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "-ERR this port is for TLS only, and the client does not use TLS");
    assert_true(wire_wait_eof(&w, EVENTUALLY_MS));
    wire_close(&w);
}

static void test_tls_on_the_plain_port(void **state) {
    struct tls_peer p;

    (void)state;
    assert_false(tls_peer_open(&p, tls.server.port, tls.alice));
    assert_true(file_contains(tls.server.log, "TLS on a port without TLS"));
}

static void test_broken_handshakes(void **state) {
    long long failed = info_number(tls.plain, "tls_failures");
    static const char *const openings[] = { "\x16", "\x16\x03\x01\x40\x01zzzz",
                                            "\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int fd = tls_peer_connect(tls.port);

        assert_true(send(fd, openings[i], i == 0 ? 1 : i == 1 ? 9 : 10, MSG_NOSIGNAL) > 0);
        close(fd);
    }
    EVENTUALLY(info_number(tls.plain, "tls_failures") == failed + 3);
    EVENTUALLY(info_number(tls.plain, "connected_clients") == 1);
}

static void test_handshake_in_pieces(void **state) {
    BIO *network, *own;
    SSL *ssl = SSL_new(tls.alice);
    int fd = tls_peer_connect(tls.port);
    char byte;

    (void)state;
    BIO_new_bio_pair(&own, 0, &network, 0);
    SSL_set_bio(ssl, own, own);
    SSL_set_connect_state(ssl);
    while (SSL_do_handshake(ssl) != 1) {
        while (BIO_read(network, &byte, 1) == 1)
            assert_int_equal(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
        assert_int_equal(recv(fd, &byte, 1, 0), 1);
        BIO_write(network, &byte, 1);
    }
    assert_int_equal(SSL_write(ssl, "PING\r\n", 6), 6);
    while (BIO_read(network, &byte, 1) == 1)
        assert_int_equal(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
    while (SSL_read(ssl, &byte, 1) != 1) {
        assert_int_equal(recv(fd, &byte, 1, 0), 1);
        BIO_write(network, &byte, 1);
    }
    assert_int_equal(byte, '+');
    SSL_free(ssl);
    BIO_free(network);
    close(fd);
}

static void test_endless_key_updates(void **state) {
    struct tls_peer p;

    (void)state;
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "PING"), "+PONG");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(SSL_key_update(p.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_string_equal(tls_peer_ask(&p, "PING"), "+PONG");
    }
    for (int i = 0; i < 10000; i++) {
        SSL_key_update(p.ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
        if (SSL_do_handshake(p.ssl) != 1)
            break;
    }
    EVENTUALLY(file_contains(tls.server.log, "too many records without data"));
    tls_peer_close(&p);
}

static void test_renegotiation_is_off(void **state) {
    SSL_CTX *ctx = tls_peer_context("ca", "alice");
    struct tls_peer p;

    (void)state;
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    assert_true(tls_peer_open(&p, tls.port, ctx));
    SSL_renegotiate(p.ssl);
    assert_int_not_equal(SSL_do_handshake(p.ssl), 1);
    tls_peer_close(&p);
    SSL_CTX_free(ctx);
}

/* ---- limits ---- */

static void test_silent_handshake_ends(void **state) {
    struct wire silent;
    struct tls_peer p;

    (void)state;
    set_option("auth-timeout", "1");
    wire_open(&silent, "127.0.0.1", tls.port);
    EVENTUALLY(strstr(ask(tls.plain, "CLIENT LIST"), text_of("laddr=127.0.0.1:%d", tls.port)) != NULL);
    assert_true(wire_wait_eof(&silent, EVENTUALLY_MS));
    assert_true(file_contains(tls.server.log, "no TLS handshake within auth-timeout"));
    wire_close(&silent);
    /* After the handshake nothing is due, because there is no password. */
    open_alice(&p);
    HOLDS_FOR(1500, strcmp(tls_peer_ask(&p, "PING"), "+PONG") == 0);
    tls_peer_close(&p);
    set_option("auth-timeout", "10");
}

/* Clients in their handshake do not keep others out. */
static void test_handshakes_give_way(void **state) {
    struct wire silent[3];
    struct tls_peer p;

    (void)state;
    EVENTUALLY(info_number(tls.plain, "connected_clients") == 1);
    set_option("maxclients", "4");
    set_option("auth-timeout", "0");
    for (int i = 0; i < 3; i++)
        wire_open(&silent[i], "127.0.0.1", tls.port);
    EVENTUALLY(info_number(tls.plain, "connected_clients") == 4);
    open_alice(&p);
    assert_string_equal(tls_peer_ask(&p, "PING"), "+PONG");
    assert_true(wire_wait_eof(&silent[0], EVENTUALLY_MS));
    tls_peer_close(&p);
    for (int i = 0; i < 3; i++)
        wire_close(&silent[i]);
    set_option("maxclients", "10000");
    set_option("auth-timeout", "10");
}

static void test_refused_by_maxclients(void **state) {
    struct tls_peer p;

    (void)state;
    EVENTUALLY(info_number(tls.plain, "connected_clients") == 1);
    set_option("maxclients", "1");
    assert_false(tls_peer_open(&p, tls.port, tls.alice));
    set_option("maxclients", "10000");
}

static void test_many_connections_and_their_memory(void **state) {
    enum { CONNECTIONS = 200 };
    static struct tls_peer peers[CONNECTIONS];
    long long bytes;

    (void)state;
    EVENTUALLY(info_number(tls.plain, "mem_tls") == 0);
    for (int i = 0; i < CONNECTIONS; i++)
        open_alice(&peers[i]);
    for (int i = 0; i < CONNECTIONS; i++)
        assert_string_equal(tls_peer_ask(&peers[i], "PING"), "+PONG");
    bytes = info_number(tls.plain, "mem_tls");
    assert_in_range(bytes / CONNECTIONS, 4000, 64 * 1024);
    for (int i = 0; i < CONNECTIONS; i++)
        tls_peer_close(&peers[i]);
    EVENTUALLY(info_number(tls.plain, "mem_tls") == 0);
}

/* ---- a server without a plain port ---- */

static void test_only_a_tls_port(void **state) {
    struct server s;
    struct tls_peer p;
    int port = server_free_port();

    (void)state;
    server_spawn(&s, postgres_conninfo(&pg, NULL),
                 (const char *const[]){ "--port", "0", "--tls-port", number_text(port), "--tls-cert-file",
                                        certificate_path("server", "crt"), "--tls-key-file",
                                        certificate_path("server", "key"), "--tls-auth-clients", "no",
                                        "--requirepass", "sesame", NULL });
    EVENTUALLY(file_contains(s.log, "ready on 127.0.0.1 port"));
    assert_true(tls_peer_open(&p, port, tls.anonymous));
    assert_string_equal(tls_peer_ask(&p, "PING"), "-NOAUTH Authentication required.");
    assert_string_equal(tls_peer_ask(&p, "AUTH sesame"), "+OK");
    assert_string_equal(tls_peer_ask(&p, "CONFIG GET port"), "*2");
    for (int i = 0; i < 4; i++)
        tls_peer_line(&p);
    assert_string_equal(tls_peer_ask(&p, "CLUSTER NODES")[0] == '$' ? "bulk" : "other", "bulk");
    assert_non_null(strstr(tls_peer_line(&p), text_of(":%d", port)));
    tls_peer_close(&p);
    assert_int_equal(server_stop(&s), 0);
}

/* Does a server with these options refuse to start, and say why? `check` is "--check" or NULL. */
static void refuses_tls(const char *check, const char *says, const char *cert, const char *key,
                        const char *ca) {
    struct server s;

    server_spawn(&s, postgres_conninfo(&pg, NULL),
                 (const char *const[]){ "--tls-port", number_text(server_free_port()), "--tls-cert-file",
                                        cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, check, NULL });
    assert_int_equal(wait_exit(s.pid, EVENTUALLY_MS), 1);
    assert_true(file_contains(s.log, says));
}

/* The check of the configuration says the same. */
static void refuses_to_start(const char *says, const char *cert, const char *key, const char *ca) {
    refuses_tls(NULL, says, cert, key, ca);
    refuses_tls("--check", says, cert, key, ca);
}

static void test_files_are_needed(void **state) {
    const char *crt = certificate_path("server", "crt"), *key = certificate_path("server", "key");

    (void)state;
    refuses_to_start("tls-port needs tls-cert-file and tls-key-file", "", "", "");
    refuses_to_start("tls-auth-clients needs tls-ca-cert-file", crt, key, "");
    refuses_to_start("cannot use tls-key-file", crt, crt, crt);
    refuses_to_start("cannot use tls-key-file", crt, certificate_path("ca", "key"), crt);
    refuses_to_start("cannot load the certificates of /nonexistent", crt, key, "/nonexistent");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_certificates),
        cmocka_unit_test(test_user_of_the_certificate),
        cmocka_unit_test(test_server_certificate_is_valid),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_ciphers),
        cmocka_unit_test(test_reload_by_config_set),
        cmocka_unit_test(test_doctor_of_the_certificate),
        cmocka_unit_test(test_reload_by_signal),
        cmocka_unit_test(test_large_data_both_ways),
        cmocka_unit_test(test_thousands_of_small_commands),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_half_close),
        cmocka_unit_test(test_blocked_client_goes),
        cmocka_unit_test(test_blocked_client_gets_its_job),
        cmocka_unit_test(test_plain_text_on_the_tls_port),
        cmocka_unit_test(test_tls_on_the_plain_port),
        cmocka_unit_test(test_broken_handshakes),
        cmocka_unit_test(test_handshake_in_pieces),
        cmocka_unit_test(test_endless_key_updates),
        cmocka_unit_test(test_renegotiation_is_off),
        cmocka_unit_test(test_silent_handshake_ends),
        cmocka_unit_test(test_handshakes_give_way),
        cmocka_unit_test(test_refused_by_maxclients),
        cmocka_unit_test(test_many_connections_and_their_memory),
        cmocka_unit_test(test_only_a_tls_port),
        cmocka_unit_test(test_files_are_needed),
    };

    return RUN_SUITE_WITH("tls", tests, start, stop);
}
