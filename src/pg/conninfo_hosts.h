#ifndef CONNINFO_HOSTS_H
#define CONNINFO_HOSTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The hosts of a connection string that names several: host=a,b port=1,2, or a URI with several hosts. libpq could try
 * them in turn, but waits for ever for a host that accepts the connection and sends nothing. Therefore each host gets a
 * connection of its own, with a timeout.
 */
#define HOSTS_OPTIONS 80

/* Keywords and values for libpq, ended by NULL. */
struct host_options {
    const char *keys[HOSTS_OPTIONS];
    const char *values[HOSTS_OPTIONS];
    char own[3][256]; /* values that were cut out of a list */
};

/* conninfo must be valid; the option database accepts no other value. PGHOST, PGHOSTADDR and PGPORT give what it does not.
 * If its lists differ in length, there is one host with the whole lists, and libpq reports the error. */
void hosts_init(const char *conninfo);
/* At least 1. */
size_t hosts_count(void);
void hosts_options(size_t host, struct host_options *out);
/* "db1.example.org:5432": for logs, valid until the next call. */
const char *hosts_name(size_t host);
/* connect_timeout in microseconds; 0 if it is not given. */
int64_t hosts_timeout_us(void);

#endif
