/* Tools over TLS: import, export, health and queues reach a tls-port and a Redis with TLS, and refuse wrong certificates. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "certificates.h"
#include "tooling.h"

#define A_DAY 86400

static struct server queues, redis; /* of redis only port, pid and log */
static const char *ca, *tls_port, *redis_address, *queue_address;

static void start_redis(void) {
    const char *port = forever(text_of("%d", redis.port));
    const char *argv[] = { "redis-server",
                           "--port",
                           "0",
                           "--tls-port",
                           port,
                           "--save",
                           "",
                           "--bind",
                           "127.0.0.1 127.0.0.2",
                           "--tls-cert-file",
                           certificate_path("server", "crt"),
                           "--tls-key-file",
                           certificate_path("server", "key"),
                           "--tls-ca-cert-file",
                           certificate_path("ca", "crt"),
                           "--requirepass",
                           "secret",
                           NULL };

    path_join(redis.log, "%s/redis.log", scratch_dir());
    redis.pid = spawn(&(struct spawn){ .argv = argv, .log = redis.log, .death_signal = SIGKILL });
    EVENTUALLY(file_contains(redis.log, "Ready to accept connections"));
}

static int start(void **state) {
    (void)state;
    certificate_authority("ca");
    certificate_authority("other");
    certificate_make("server", "ca", "localhost", A_DAY);
    certificate_make("tool", "ca", "tool", A_DAY);
    ca = certificate_path("ca", "crt");
    tls_port = forever(text_of("%d", server_free_port()));
    redis.port = server_free_port();
    server_start(&queues, postgres_conninfo(&pg, NULL),
                 (const char *const[]){ "--tls-port", tls_port, "--tls-cert-file",
                                        certificate_path("server", "crt"), "--tls-key-file",
                                        certificate_path("server", "key"), "--tls-ca-cert-file", ca, NULL });
    start_redis();
    redis_address = forever(text_of("rediss://:secret@127.0.0.1:%d/0", redis.port));
    queue_address = forever(text_of("rediss://localhost:%s", tls_port));
    return 0;
}

static int stop(void **state) {
    (void)state;
    kill(redis.pid, SIGKILL);
    wait_exit(redis.pid, 60000);
    return server_stop(&queues);
}

/* The arguments of TLS, for a client with a certificate. */
#define TRUST \
    "--cacert", ca, "--cert", certificate_path("tool", "crt"), "--key", certificate_path("tool", "key")

static void test_import_and_export(void **state) {
    redisContext *c = client_open_on(&queues);

    (void)state;
    add_job(c, "there", "task 0", "");
    add_job(c, "there", "task 1", "");
    TOOLING(0, "\"moved\":2", "export", redis_address, "--from", queue_address, "--queue", "there", TRUST);
    expect(c, ":0", "QLEN there");
    TOOLING(0, "{\"name\":\"back:there\",\"count\":2}", "import", redis_address, "--to", queue_address,
            "--queue-prefix", "back:", TRUST, "there");
    get_job(c, "back:there", "task 0");
    get_job(c, "back:there", "task 1");
    redisFree(c);
}

static void test_refused(void **state) {
    const char *other = certificate_path("other", "crt");

    (void)state;
    TOOLING(2, "name the authority of the server's certificate with --cacert", "import", redis_address,
            "--cacert", other, "a");
    TOOLING(2, "certificate refused", "export", redis_address, "--from", queue_address, "--cacert", other,
            "--queue", "a");
    /* Neither a name nor an address of the certificate. */
    TOOLING(2, "mismatch", "import", text_of("rediss://:secret@127.0.0.2:%d", redis.port), TRUST, "--dry-run",
            "a");
    TOOLING(2, "cannot load", "import", redis_address, "--cert", "/nowhere", "a");
}

/* The tool gets the certificate of the server, because tls-auth-clients is yes. */
static void test_health(void **state) {
    const char *out;

    (void)state;
    EVENTUALLY(tooling_run(&out, "health", "--port", "0", "--tls-port", tls_port, "--tls-cert-file",
                           certificate_path("server", "crt"), "--tls-key-file",
                           certificate_path("server", "key"), NULL) == 0);
    tooling_says(out, "\"healthy\":true");
    assert_int_equal(tooling_run(&out, "health", "--port", "0", "--tls-port", tls_port, NULL), 1);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_and_export),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_health),
    };

    return RUN_SUITE_WITH("tools_tls", tests, start, stop);
}
