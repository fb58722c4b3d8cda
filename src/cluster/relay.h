#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Messages of PUBLISH on their way to the other servers. What a server has to tell is a stream of records, cut into
 * parts that fit into a notification: small messages share one, a large one takes several. A part that
 * is missed is missed, with the messages that have bytes in it; the next one says where the first record in it begins.
 *
 * Everybody who can connect to the database can listen, so parts are encrypted, by a key that follows from the
 * database's secret; and what is not is not believed, nor a part that is older than the last one, or than some seconds. Text of a
 * notification:
 *
 *     Q<base64 of the nonce and of what is encrypted: run, part number, time, node number, begin of the first record,
 *     bytes>
 */

/* can_tell: are the others heard, and do they hear us? Until then there are none. */
void relay_init(bool (*can_tell)(void));
/* Notes it for the others, if there are any and they can be told. When too much waits, it is dropped. */
void relay_tell(struct slice channel, struct slice message);
/* Is anything to be told? */
bool relay_has(void);
/* The next part, as text with its NUL; size: CHANNEL_TEXT_MAX. */
void relay_take(char *out, size_t size);
/* Takes a text that was heard, and delivers the messages that end in it; false when it is none of ours. */
bool relay_hear(const char *text);

#endif
