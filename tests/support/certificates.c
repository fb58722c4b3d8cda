/* Certificates for tests of TLS. */
#include "certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>

#include "process.h"

#define A_DAY 86400L

const char *certificate_path(const char *name, const char *what) {
    char path[PATH_SIZE];

    path_join(path, "%s/%s.%s", scratch_dir(), name, what);
    return forever(path);
}

static FILE *open_file(const char *name, const char *what, const char *mode) {
    FILE *f = fopen(certificate_path(name, what), mode);

    if (f == NULL)
        die("cannot open %s", certificate_path(name, what));
    return f;
}

static void extend(X509 *cert, int kind, const char *value) {
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

    if (e == NULL || X509_add_ext(cert, e, -1) != 1)
        die("cannot extend a certificate by %s", value);
    X509_EXTENSION_free(e);
}

static X509 *new_certificate(EVP_PKEY *key, const char *common_name, long seconds) {
    static long serial;
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);

    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -2 * A_DAY);
    X509_gmtime_adj(X509_getm_notAfter(cert), seconds);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0);
    return cert;
}

/* Signs cert by the issuer, and writes it with its key. */
static void finish(const char *name, X509 *cert, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key) {
    FILE *f;

    X509_set_issuer_name(cert, X509_get_subject_name(issuer));
    if (X509_sign(cert, issuer_key, EVP_sha256()) == 0)
        die("cannot sign the certificate %s", name);
    f = open_file(name, "crt", "w");
    PEM_write_X509(f, cert);
    fclose(f);
    f = open_file(name, "key", "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void certificate_authority(const char *name) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_certificate(key, name, A_DAY);

    extend(cert, NID_basic_constraints, "critical,CA:TRUE");
    finish(name, cert, key, cert, key);
}

void certificate_make(const char *name, const char *authority, const char *common_name, long seconds) {
    FILE *f = open_file(authority, "crt", "r");
    X509 *issuer = PEM_read_X509(f, NULL, NULL, NULL), *cert;
    EVP_PKEY *key = EVP_EC_gen("P-256"), *issuer_key;

    fclose(f);
    f = open_file(authority, "key", "r");
    issuer_key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
    fclose(f);
    cert = new_certificate(key, common_name, seconds);
    extend(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    finish(name, cert, key, issuer, issuer_key);
    X509_free(issuer);
    EVP_PKEY_free(issuer_key);
}
