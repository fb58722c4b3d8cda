#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>

/*
 * A separate connection for LISTEN and NOTIFY, the messages between the servers of one database. The channel sends one
 * notification at a time, in a transaction that changes nothing else. Postgres delivers each notification to its
 * sender, too. If a notification does not come back within five seconds, the channel closes the connection and connects
 * again.
 *
 * Behind a pooler in transaction mode no notification arrives. The channel then stays down, and the servers poll the
 * database.
 */
#define CHANNEL_TEXT_MAX 7900 /* bytes of one notification; Postgres' limit is below 8000 */

struct channel_hooks {
    void (*on_up)(void); /* also after every interruption, in which notifications may have been missed */
    void (*on_text)(const char *text);
};

void channel_start(struct event_base *base, const struct channel_hooks *hooks);
void channel_stop(void);
/* Is the channel connected, and has a notification arrived on this connection? */
bool channel_is_up(void);
/* Has the channel failed more than three times since it was up? A start takes a try or two. */
bool channel_is_failing(void);
/* May channel_send() be called: is the channel connected, and the last notification sent? */
bool channel_can_send(void);
/* Is a notification being sent? */
bool channel_is_busy(void);
/* text: at most CHANNEL_TEXT_MAX bytes. channel_can_send() must be true. */
void channel_send(const char *text);

#endif
