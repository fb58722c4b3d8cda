#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>

/*
 * A connection of its own over which the servers of one database hear each other: LISTEN and
 * NOTIFY, one notification at a time, each a transaction that changes nothing else. What we send
 * comes back to us, too: when it does not, nobody hears us, or we are deaf. Then the channel is
 * down, and tries again.
 *
 * Through a pooler that gives every transaction another session nothing is ever heard. The channel
 * stays down then; whoever relies on it has to look for itself.
 */
#define CHANNEL_TEXT_MAX 7900 /* bytes of one notification; Postgres takes less than 8000 */

struct channel_hooks {
    void (*on_up)(void); /* also after every interruption: something may have been missed */
    void (*on_text)(const char *text);
};

void channel_start(struct event_base *base, const struct channel_hooks *hooks);
void channel_stop(void);
/* Does what we send come back? */
bool channel_is_up(void);
/* Was it tried in vain for some time since it was up last? A start takes a try or two. */
bool channel_is_failing(void);
/* May channel_send() be called: connected, and nothing is under way? */
bool channel_can_send(void);
/* Is anything under way? */
bool channel_is_busy(void);
void channel_send(const char *text);

#endif
