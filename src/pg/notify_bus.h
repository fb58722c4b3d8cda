#ifndef NOTIFY_BUS_H
#define NOTIFY_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>

/*
 * A separate connection for LISTEN and NOTIFY, the messages between the servers of one database. The bus sends one
 * notification at a time, in a transaction that changes nothing else. Postgres delivers each notification to its
 * sender, too. If a notification does not come back within five seconds, the bus closes the connection and connects
 * again.
 *
 * Behind a pooler in transaction mode no notification arrives. The bus then stays down, and the servers poll the
 * database.
 */
#define NOTIFY_TEXT_MAX 7900 /* bytes of one notification; Postgres' limit is below 8000 */

struct notify_bus_hooks {
    void (*on_up)(void); /* also after every interruption, in which notifications may have been missed */
    void (*on_text)(const char *text);
};

void notify_bus_start(struct event_base *base, const struct notify_bus_hooks *hooks);
void notify_bus_stop(void);
/* Is the bus connected, and has a notification arrived on this connection? */
bool notify_bus_is_up(void);
/* Has the bus failed more than three times since it was up? A start takes a try or two. */
bool notify_bus_is_failing(void);
/* May notify_bus_send() be called: is the bus connected, and the last notification sent? */
bool notify_bus_can_send(void);
/* Is a notification being sent? */
bool notify_bus_is_busy(void);
/* text: at most NOTIFY_TEXT_MAX bytes. notify_bus_can_send() must be true. */
void notify_bus_send(const char *text);

#endif
