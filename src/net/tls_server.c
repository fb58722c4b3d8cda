/* The TLS context of the server: made of the options, and loaded again when they change. */
#include "net/tls_server.h"

#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"

static SSL_CTX *tls_context;

static bool tls_refuse(char *err, size_t err_size, const char *why, const char *file) {
    snprintf(err, err_size, "%s%s%s", why, *file == '\0' ? "" : " ", file);
    tls_add_reason(err, err_size);
    return false;
}

/* OpenSSL's own function would ask the terminal. */
static int give_password(char *out, int size, int writing, void *arg) {
    int len = (int)strlen(config.tls_key_file_pass);

    (void)writing;
    (void)arg;
    if (len > size)
        return -1;
    memcpy(out, config.tls_key_file_pass, (size_t)len);
    return len;
}

static bool load_own(SSL_CTX *ctx, char *err, size_t err_size) {
    if (config.tls_cert_file[0] == '\0' || config.tls_key_file[0] == '\0')
        return tls_refuse(err, err_size, "tls-port needs tls-cert-file and tls-key-file", "");
    SSL_CTX_set_default_passwd_cb(ctx, give_password);
    if (SSL_CTX_use_certificate_chain_file(ctx, config.tls_cert_file) != 1)
        return tls_refuse(err, err_size, "cannot load tls-cert-file", config.tls_cert_file);
    if (SSL_CTX_use_PrivateKey_file(ctx, config.tls_key_file, SSL_FILETYPE_PEM) != 1)
        return tls_refuse(err, err_size, "cannot use tls-key-file", config.tls_key_file);
    return true;
}

static const char *path_or_null(const char *path) {
    return path[0] == '\0' ? NULL : path;
}

/* The names of the authorities tell a client which of its certificates to send. */
static bool load_authorities(SSL_CTX *ctx, char *err, size_t err_size) {
    const char *file = path_or_null(config.tls_ca_cert_file), *dir = path_or_null(config.tls_ca_cert_dir);
    STACK_OF(X509_NAME) *names = NULL;

    if (config.tls_auth_clients == TLS_CLIENT_NO)
        return true;
    if (file == NULL && dir == NULL)
        return tls_refuse(err, err_size,
                          "tls-auth-clients needs tls-ca-cert-file or tls-ca-cert-dir, unless it is no", "");
    if (SSL_CTX_load_verify_locations(ctx, file, dir) != 1)
        return tls_refuse(err, err_size, "cannot load the certificates of", file != NULL ? file : dir);
    if (file != NULL)
        names = SSL_load_client_CA_file(file);
    if (names != NULL)
        SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(ctx,
                       SSL_VERIFY_PEER |
                           (config.tls_auth_clients == TLS_CLIENT_YES ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       NULL);
    return true;
}

static bool set_ciphers(SSL_CTX *ctx, char *err, size_t err_size) {
    if (!tls_set_protocols(ctx, config.tls_protocols))
        return tls_refuse(err, err_size, "tls-protocols takes TLSv1.2 and TLSv1.3", "");
    if (config.tls_ciphers[0] != '\0' && SSL_CTX_set_cipher_list(ctx, config.tls_ciphers) != 1)
        return tls_refuse(err, err_size, "tls-ciphers has no cipher that OpenSSL knows", "");
    if (config.tls_ciphersuites[0] != '\0' && SSL_CTX_set_ciphersuites(ctx, config.tls_ciphersuites) != 1)
        return tls_refuse(err, err_size, "tls-ciphersuites has a cipher that OpenSSL does not know", "");
    if (config.tls_prefer_server_ciphers)
        SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    return true;
}

/* Sessions are not resumed. So each connection is checked with the present certificates. */
static SSL_CTX *make_context(char *err, size_t err_size) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    ERR_clear_error();
    if (ctx == NULL) {
        tls_refuse(err, err_size, "OpenSSL cannot be used", "");
        return NULL;
    }
    tls_prepare(ctx);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_dh_auto(ctx, 1);
    if (load_own(ctx, err, err_size) && load_authorities(ctx, err, err_size) &&
        set_ciphers(ctx, err, err_size))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

bool tls_server_load(char *err, size_t err_size) {
    SSL_CTX *ctx;

    if (config.tls_port == 0)
        return true;
    ctx = make_context(err, err_size);
    if (ctx == NULL)
        return false;
    SSL_CTX_free(tls_context);
    tls_context = ctx;
    return true;
}

bool tls_server_start(char *err, size_t err_size) {
    size_t count;
    const struct config_option *all = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        if (strncmp(all[i].name, "tls-", 4) == 0 && (all[i].flags & OPT_RUNTIME))
            config_on_set(all[i].name, tls_server_load);
    }
    return tls_server_load(err, err_size);
}

bool tls_server_days_left(int *days) {
    const X509 *cert = tls_context == NULL ? NULL : SSL_CTX_get0_certificate(tls_context);
    int seconds;

    if (cert == NULL || ASN1_TIME_diff(days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        return false;
    *days -= *days == 0 && seconds < 0;
    return true;
}

struct tls *tls_server_accept(int fd) {
    return tls_new(tls_context, fd, true);
}
