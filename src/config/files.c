/* The limit of open files, and what of it clients may take. */
#include "config/files.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "config/config.h"

/* Listeners, log, the loop's own, the connections that the database has all the time. */
#define OWN_FILES 32
/* For connections that are made anew, and files that are read in between. */
#define RESERVE 32

static int clients_wanted;

int files_clients_wanted(void) {
    return clients_wanted;
}

/* The limit, raised as far as it is allowed. */
static rlim_t raise_to(rlim_t wanted) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return wanted;
    limit.rlim_cur = limit.rlim_max >= wanted ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

bool files_prepare(char *err, size_t err_size) {
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

/* The lowest free number is always taken first. */
bool files_are_few(int fd) {
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + RESERVE >= limit.rlim_cur;
}
