/* Looks up the names of the hosts by threads. */
#include "pg/host_addresses.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

/* Addresses are looked up again after this time. */
#define FRESH_US US_PER_S
/* Connections wait for a lookup at most this time. */
#define LOOKUP_WAIT_US (2 * US_PER_S)

/* Its thread writes error and list, and then ended. */
struct lookup {
    atomic_bool ended;
    int error; /* of getaddrinfo() */
    char name[256];
    struct address_list list;
};

struct looked_up {
    char name[256];           /* "": it needs no lookup */
    struct lookup *lookup;    /* NULL: none is under way */
    int64_t began_us;         /* clock_mono() */
    int64_t ended_us;         /* 0: never */
    struct address_list list; /* the last known addresses; empty: none */
};

static struct {
    struct looked_up *hosts;
    size_t count;
} addresses;

/* ---- a lookup ---- */

static void list_append(char *list, size_t size, const char *element) {
    size_t len = strlen(list);

    snprintf(list + len, size - len, "%s%s", len > 0 ? "," : "", element);
}

static void lookup_read(struct lookup *l, const struct addrinfo *found) {
    char address[80];

    for (int n = 0; found != NULL && n < ADDRESSES_MOST; found = found->ai_next) {
        if (getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        list_append(l->list.names, sizeof l->list.names, l->name);
        list_append(l->list.addresses, sizeof l->list.addresses, address);
        n++;
    }
}

static void *lookup_main(void *arg) {
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
    struct lookup *l = arg;

    l->error = getaddrinfo(l->name, NULL, &hints, &found);
    if (l->error == 0) {
        lookup_read(l, found);
        freeaddrinfo(found);
    }
    atomic_store(&l->ended, true);
    return NULL;
}

/* The thread gets no signals, because the loop waits for them. */
static bool lookup_run(struct lookup *l) {
    sigset_t all, before;
    pthread_t thread;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, NULL, lookup_main, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static void lookup_start(struct looked_up *h) {
    struct lookup *l = xcalloc(1, sizeof *l);

    memcpy(l->name, h->name, sizeof l->name);
    h->began_us = clock_mono();
    h->lookup = l;
    if (lookup_run(l))
        return;
    l->error = EAI_AGAIN;
    l->ended = true;
}

static void lookup_end(struct looked_up *h) {
    static struct log_kind kind;
    struct lookup *l = h->lookup;

    if (l->error != 0)
        log_sometimes(&kind, LOG_WARNING_, "database", "cannot look up the host %s: %s", h->name,
                      gai_strerror(l->error));
    else
        h->list = l->list;
    h->ended_us = clock_mono();
    h->lookup = NULL;
    free(l);
}

/* ---- hosts ---- */

static const char *host_option(const struct host_options *o, const char *key) {
    for (size_t i = 0; o->keys[i] != NULL; i++)
        if (strcmp(o->keys[i], key) == 0)
            return o->values[i];
    return "";
}

/* Directories of sockets begin with a slash or an at sign. libpq reports lists that do not fit. */
static bool is_host_name(const char *text) {
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *found;

    if (text[0] == '\0' || strchr("/@", text[0]) != NULL || strchr(text, ',') != NULL)
        return false;
    if (getaddrinfo(text, NULL, &hints, &found) != 0)
        return true;
    freeaddrinfo(found);
    return false;
}

/* Threads that are running keep the memory of their lookups. */
void addresses_init(void) {
    struct host_options o;

    free(addresses.hosts);
    addresses.count = hosts_count();
    addresses.hosts = xcalloc(addresses.count, sizeof *addresses.hosts);
    for (size_t i = 0; i < addresses.count; i++) {
        struct looked_up *h = &addresses.hosts[i];
        const char *name;

        hosts_options(i, &o);
        name = host_option(&o, "host");
        if (host_option(&o, "hostaddr")[0] == '\0' && strlen(name) < sizeof h->name && is_host_name(name))
            snprintf(h->name, sizeof h->name, "%s", name);
    }
}

/* Takes the result of the lookup, or begins a new one. */
static void look_up(struct looked_up *h) {
    if (h->name[0] == '\0')
        return;
    if (h->lookup != NULL && atomic_load(&h->lookup->ended))
        lookup_end(h);
    else if (h->lookup == NULL && (h->ended_us == 0 || clock_mono() - h->ended_us > FRESH_US))
        lookup_start(h);
}

bool addresses_ready(void) {
    bool ready = true;

    for (size_t i = 0; i < addresses.count; i++) {
        struct looked_up *h = &addresses.hosts[i];

        look_up(h);
        ready = ready && (h->lookup == NULL || clock_mono() - h->began_us > LOOKUP_WAIT_US);
    }
    return ready;
}

static void option_set(struct host_options *o, const char *key, const char *value) {
    size_t at = 0;

    while (o->keys[at] != NULL && strcmp(o->keys[at], key) != 0)
        at++;
    if (o->keys[at] == NULL)
        o->keys[at + 1] = o->values[at + 1] = NULL;
    o->keys[at] = key;
    o->values[at] = value;
}

/* libpq refuses a name in hostaddr, and does not look it up. */
void addresses_set(size_t host, struct host_options *o, struct address_list *list) {
    struct looked_up *h = host < addresses.count ? &addresses.hosts[host] : NULL;

    if (h == NULL || h->name[0] == '\0')
        return;
    look_up(h);
    *list = h->list;
    if (list->addresses[0] == '\0') {
        snprintf(list->names, sizeof list->names, "%s", h->name);
        snprintf(list->addresses, sizeof list->addresses, "%s", h->name);
    }
    option_set(o, "host", list->names);
    option_set(o, "hostaddr", list->addresses);
}
