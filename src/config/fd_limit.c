/* The limit on open files, and the part of it that clients may use. */
#include "config/fd_limit.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "config/config.h"

/* Files that are always open: listeners, the log, files of the event loop, connections to the database. */
#define OWN_FILES 32
/* Files that are open for a short time: new connections to the database, and files that are read. */
#define RESERVE 32

static int clients_wanted;

int fd_limit_clients(void) {
    return clients_wanted;
}

/* Raises the limit to wanted, or as far as the hard limit allows, and returns the new limit. */
static rlim_t raise_to(rlim_t wanted) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return wanted;
    limit.rlim_cur = limit.rlim_max >= wanted ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

bool fd_limit_prepare(char *err, size_t err_size) {
    rlim_t wanted = (rlim_t)config.maxclients + OWN_FILES + RESERVE;
    rlim_t limit = raise_to(wanted);

    clients_wanted = config.maxclients;
    if (limit >= wanted)
        return true;
    if (limit <= OWN_FILES + RESERVE) {
        snprintf(err, err_size,
                 "the limit of %llu open files leaves none for clients; raise it (ulimit -n %llu)",
                 (unsigned long long)limit, (unsigned long long)wanted);
        return false;
    }
    config.maxclients = (int)(limit - OWN_FILES - RESERVE);
    log_warning("server", "the limit of open files allows only %d clients; raise it (ulimit -n %llu)",
                config.maxclients, (unsigned long long)wanted);
    return true;
}

/* The kernel assigns the lowest free number, so a high number means that most files are in use. */
bool fd_limit_is_low(int fd) {
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + RESERVE >= limit.rlim_cur;
}
