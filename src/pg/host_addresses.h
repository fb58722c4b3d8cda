#ifndef HOST_ADDRESSES_H
#define HOST_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include "pg/conninfo_hosts.h"

/*
 * The addresses of the hosts of the connection string. libpq looks up a name while its caller waits, and a name server may
 * give no answer for many seconds. So threads look up the names, and libpq gets addresses. Names from a service
 * file are left to libpq.
 */

/* Forgets all addresses. Call it after hosts_init(). Without this call all names are left to libpq. */
void addresses_init(void);
/* Looks up the names again if that was a second ago. False while it waits for that, two seconds at most. Then the last known
 * addresses remain in use. */
bool addresses_ready(void);
/* Gives the options of hosts_options() all addresses of the host. Each is a host with the same name, because TLS verifies
 * the name. If no address is known, libpq will report an error. list is memory for the values. */
#define ADDRESSES_MOST 16
struct address_list {
    char names[ADDRESSES_MOST * 257];
    char addresses[ADDRESSES_MOST * 80];
};
void addresses_set(size_t host, struct host_options *o, struct address_list *list);

#endif
