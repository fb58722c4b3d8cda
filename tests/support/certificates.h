#ifndef CERTIFICATES_H
#define CERTIFICATES_H

/*
 * Certificates for tests of TLS: PEM files <name>.crt and <name>.key in the scratch directory. Every user can read
 * them, because a server that root starts becomes another user.
 */

/* The path of a file of a certificate. what is "crt" or "key". The path lives until the process ends. */
const char *certificate_path(const char *name, const char *what);

/* Makes an authority, which signs itself. */
void certificate_authority(const char *name);
/* Makes a certificate for the common name, localhost and 127.0.0.1, which the authority signs. It ends in so many
 * seconds, which may be negative. */
void certificate_make(const char *name, const char *authority, const char *common_name, long seconds);

#endif
