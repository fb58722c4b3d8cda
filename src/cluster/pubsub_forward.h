#ifndef PUBSUB_FORWARD_H
#define PUBSUB_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Forwards PUBLISH messages to the other servers. The messages of a server are a stream of records, cut into parts
 * that fit into a notification. Small messages share a part, and a large message takes several. A missed part is
 * not repeated, so each message with bytes in it is lost. The next part names the position of the first record in
 * it.
 *
 * Every role that can connect to the database can listen. Parts are therefore encrypted with a key derived from the
 * secret of the database. Unencrypted parts are ignored, as are parts older than the last part or older than some
 * seconds. Text of a notification:
 *
 *     Q<base64 of the nonce and the encrypted fields: run, part number, time, node number, begin of the first record,
 *     bytes>
 */

/* can_tell returns whether this server can send to its peers. While it is false, messages are dropped. */
void pubsub_forward_init(bool (*can_tell)(void));
/* Queues the message for the peers, if there are any. Drops it if can_tell() is false or too many bytes wait. */
void pubsub_forward_tell(struct slice channel, struct slice message);
/* Does a part wait to be sent? */
bool pubsub_forward_has(void);
/* Writes the next part as text, with its NUL. size: NOTIFY_TEXT_MAX. */
void pubsub_forward_take(char *out, size_t size);
/* Handles a received text and delivers the messages that end in it. False if the text is not a part. */
bool pubsub_forward_receive(const char *text);

#endif
