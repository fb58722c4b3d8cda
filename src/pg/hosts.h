#ifndef HOSTS_H
#define HOSTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The hosts of a connection string that names several: host=a,b port=1,2 or the like as a URI.
 * libpq would go through them by itself, but stays for ever with one that takes the connection
 * and says nothing; so each is a connection of its own here.
 */
#define HOSTS_OPTIONS 80

/* Keywords and values for libpq, ended by NULL; some of the values lie in it. */
struct host_options {
    const char *keys[HOSTS_OPTIONS];
    const char *values[HOSTS_OPTIONS];
    char own[3][256];
};

/* conninfo must be one (the option database takes no other). Where its lists do not fit together there is
 * one host, about which libpq will complain. */
void hosts_init(const char *conninfo);
/* At least 1. */
size_t hosts_count(void);
void hosts_options(size_t host, struct host_options *out);
/* "db1.example.org:5432": for logs, valid until the next call. */
const char *hosts_name(size_t host);
/* connect_timeout, 0 when it is not given. */
int64_t hosts_timeout_us(void);

#endif
