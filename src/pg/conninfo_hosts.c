/* The hosts of a connection string, each with its own options. */
#include "pg/conninfo_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

static struct {
    PQconninfoOption *options;
    size_t count;
} hosts;

static const char *value_of(const char *key) {
    for (PQconninfoOption *o = hosts.options; o->keyword != NULL; o++)
        if (strcmp(o->keyword, key) == 0)
            return o->val;
    return NULL;
}

static size_t elements(const char *list) {
    size_t count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Options whose values are lists with one element for each host. */
static const char *const lists[] = { "host", "hostaddr", "port" };

/* A list of ports with one element counts for all hosts, as in libpq. */
static bool lists_fit(size_t count) {
    const char *port = value_of("port"), *host = value_of("host");

    return (host == NULL || elements(host) == count) &&
           (port == NULL || elements(port) == count || elements(port) == 1);
}

/* Copies the element at index; the only element of a list counts for all hosts. */
static void copy_element(char *out, size_t size, const char *list, size_t index) {
    for (; index > 0 && strchr(list, ',') != NULL; index--)
        list = strchr(list, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
}

/* Takes the lists that are not given from PGHOST, PGHOSTADDR and PGPORT, as libpq does. A service may give them, too, and
 * then they are left to libpq. */
static void add_environment(void) {
    if (value_of("service") != NULL || getenv("PGSERVICE") != NULL)
        return;
    for (PQconninfoOption *o = hosts.options; o->keyword != NULL; o++)
        for (size_t i = 0; i < LENGTH(lists); i++)
            if (o->val == NULL && strcmp(o->keyword, lists[i]) == 0 && getenv(o->envvar) != NULL)
                o->val = xstrdup(getenv(o->envvar));
}

void hosts_init(const char *conninfo) {
    const char *list;

    PQconninfoFree(hosts.options);
    hosts.options = PQconninfoParse(conninfo, NULL);
    if (hosts.options == NULL)
        log_fatal("db", "the connection string cannot be understood");
    add_environment();
    list = value_of("hostaddr") != NULL ? value_of("hostaddr") : value_of("host");
    hosts.count = list == NULL ? 1 : elements(list);
    if (!lists_fit(hosts.count))
        hosts.count = 1;
}

size_t hosts_count(void) {
    return hosts.count;
}

/* The host's element of a list, or the whole value of any other option. */
static const char *value_for(const PQconninfoOption *o, size_t host, struct host_options *out) {
    for (size_t i = 0; hosts.count > 1 && i < LENGTH(lists); i++) {
        if (strcmp(o->keyword, lists[i]) != 0)
            continue;
        copy_element(out->own[i], sizeof out->own[i], o->val, host);
        return out->own[i];
    }
    return o->val;
}

void hosts_options(size_t host, struct host_options *out) {
    size_t n = 0;

    for (PQconninfoOption *o = hosts.options; o->keyword != NULL && n < HOSTS_OPTIONS - 1; o++) {
        if (o->val == NULL)
            continue;
        out->keys[n] = o->keyword;
        out->values[n++] = value_for(o, host, out);
    }
    out->keys[n] = out->values[n] = NULL;
}

static const char *option(const struct host_options *o, const char *key) {
    for (size_t i = 0; o->keys[i] != NULL; i++)
        if (strcmp(o->keys[i], key) == 0)
            return o->values[i];
    return "";
}

const char *hosts_name(size_t host) {
    static char text[300];
    struct host_options o;
    const char *name, *port;

    hosts_options(host, &o);
    name = option(&o, "host");
    port = option(&o, "port");
    snprintf(text, sizeof text, "%s%s%s", name[0] == '\0' ? option(&o, "hostaddr") : name,
             port[0] == '\0' ? "" : ":", port);
    return text;
}

int64_t hosts_timeout_us(void) {
    const char *seconds = value_of("connect_timeout");

    return seconds == NULL || atoi(seconds) <= 0 ? 0 : atoi(seconds) * US_PER_S;
}
