/* Forwards PUBLISH messages between servers: a stream of records, cut into encrypted parts. */
#include "cluster/pubsub_forward.h"

#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/job_key.h"
#include "base/node.h"
#include "base/stats.h"
#include "net/pubsub.h"
#include "pg/notify_bus.h"

#define MARK 'Q'
/* Maximum of bytes that wait to be sent. */
#define WAITING_MAX ((size_t)16 * 1024 * 1024)
/* A record: two lengths, then the bytes. */
#define LENGTHS 8
#define NO_RECORD UINT16_MAX

/* Header of a part, before its bytes. */
struct head {
    uint64_t run;
    uint64_t part;
    int64_t told_us; /* clock_db() */
    uint16_t node;
    uint16_t first; /* offset of the first record that begins in this part, or NO_RECORD */
    uint32_t reserved;
};

/* A text of n characters holds 3n/4 bytes. */
#define PART_MAX                                                                               \
    ((NOTIFY_TEXT_MAX - 2) / 4 * 3 - crypto_secretbox_NONCEBYTES - crypto_secretbox_MACBYTES - \
     sizeof(struct head))
#define SEALED_MAX (crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + sizeof(struct head) + PART_MAX)

/* Received parts of a peer. */
struct teller {
    uint64_t run;
    uint64_t part;
    bool skips; /* ignores bytes until a record begins */
    struct buf bytes;
};

static struct {
    bool (*can_tell)(void);
    struct buf waiting;
    size_t cut; /* bytes at the front whose record was begun by an earlier part */
    uint64_t parts;
    struct teller *tellers[NODE_MAX_NUMBER + 1];
} pubsub_forward;

void pubsub_forward_init(bool (*can_tell)(void)) {
    pubsub_forward.can_tell = can_tell;
}

static uint32_t length_at(const char *at) {
    uint32_t length;

    memcpy(&length, at, sizeof length);
    return length;
}

static size_t record_size(const char *at) {
    return LENGTHS + (size_t)length_at(at) + length_at(at + 4);
}

/* ---- sending ---- */

void pubsub_forward_tell(struct slice channel, struct slice message) {
    uint32_t lengths[] = { (uint32_t)channel.len, (uint32_t)message.len };

    if (pubsub_forward.can_tell == NULL || !node_has_peers())
        return;
    if (!pubsub_forward.can_tell() ||
        buf_len(&pubsub_forward.waiting) + LENGTHS + channel.len + message.len > WAITING_MAX) {
        stats.pubsub_dropped++;
        return;
    }
    buf_append(&pubsub_forward.waiting, lengths, LENGTHS);
    buf_append(&pubsub_forward.waiting, channel.ptr, channel.len);
    buf_append(&pubsub_forward.waiting, message.ptr, message.len);
}

bool pubsub_forward_has(void) {
    return buf_len(&pubsub_forward.waiting) > 0;
}

/* Removes the first size bytes, which were sent. */
static void pubsub_forward_advance(size_t size) {
    size_t at = pubsub_forward.cut;

    while (at < size)
        at += record_size(buf_ptr(&pubsub_forward.waiting) + at);
    pubsub_forward.cut = at - size;
    buf_consume(&pubsub_forward.waiting, size);
    if (buf_len(&pubsub_forward.waiting) == 0)
        buf_reset(&pubsub_forward.waiting, PART_MAX);
}

static void seal(char *out, size_t size, const unsigned char *plain, size_t len) {
    unsigned char sealed[SEALED_MAX], key[crypto_secretbox_KEYBYTES];

    jobid_derive_key("pubsub", key);
    randombytes_buf(sealed, crypto_secretbox_NONCEBYTES);
    crypto_secretbox_easy(sealed + crypto_secretbox_NONCEBYTES, plain, len, sealed, key);
    out[0] = MARK;
    sodium_bin2base64(out + 1, size - 1, sealed,
                      crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + len,
                      sodium_base64_VARIANT_ORIGINAL);
}

void pubsub_forward_take(char *out, size_t size) {
    size_t len = buf_len(&pubsub_forward.waiting) < PART_MAX ? buf_len(&pubsub_forward.waiting) : PART_MAX;
    unsigned char plain[sizeof(struct head) + PART_MAX];
    struct head head = {
        .run = node_self()->run,
        .part = ++pubsub_forward.parts,
        .told_us = clock_db(),
        .node = node_self()->number,
        .first = pubsub_forward.cut < len ? (uint16_t)pubsub_forward.cut : NO_RECORD,
    };

    memcpy(plain, &head, sizeof head);
    memcpy(plain + sizeof head, buf_ptr(&pubsub_forward.waiting), len);
    pubsub_forward_advance(len);
    seal(out, size, plain, sizeof head + len);
}

/* ---- receiving ---- */

/* Decrypts a part. Returns its length, or 0 if it is invalid. */
static size_t open_text(const char *text, unsigned char *plain) {
    unsigned char sealed[SEALED_MAX], key[crypto_secretbox_KEYBYTES];
    size_t len;

    if (sodium_base642bin(sealed, sizeof sealed, text, strlen(text), NULL, &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        len < crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + sizeof(struct head))
        return 0;
    jobid_derive_key("pubsub", key);
    if (crypto_secretbox_open_easy(plain, sealed + crypto_secretbox_NONCEBYTES,
                                   len - crypto_secretbox_NONCEBYTES, sealed, key) != 0)
        return 0;
    return len - crypto_secretbox_NONCEBYTES - crypto_secretbox_MACBYTES;
}

static struct teller *teller_of(uint16_t node) {
    if (pubsub_forward.tellers[node] == NULL) {
        pubsub_forward.tellers[node] = xcalloc(1, sizeof **pubsub_forward.tellers);
        pubsub_forward.tellers[node]->skips = true;
    }
    return pubsub_forward.tellers[node];
}

static void deliver_whole(struct teller *t) {
    while (buf_len(&t->bytes) >= LENGTHS && buf_len(&t->bytes) >= record_size(buf_ptr(&t->bytes))) {
        const char *at = buf_ptr(&t->bytes);
        struct slice channel = { at + LENGTHS, length_at(at) };
        struct slice message = { channel.ptr + channel.len, length_at(at + 4) };

        (void)pubsub_deliver(channel, message);
        buf_consume(&t->bytes, record_size(at));
    }
    if (buf_len(&t->bytes) == 0)
        buf_reset(&t->bytes, 0);
}

/* After a missed part, drops the incomplete record and skips to the next begin of a record. */
static void take_part(struct teller *t, const struct head *head, const char *bytes, size_t len) {
    if (t->run != head->run || t->part + 1 != head->part) {
        t->skips = true;
        buf_reset(&t->bytes, 0);
    }
    t->run = head->run;
    t->part = head->part;
    if (t->skips) {
        if (head->first >= len)
            return;
        bytes += head->first;
        len -= head->first;
        t->skips = false;
    }
    buf_append(&t->bytes, bytes, len);
    deliver_whole(t);
}

bool pubsub_forward_receive(const char *text) {
    unsigned char plain[SEALED_MAX];
    struct head head;
    struct teller *t;
    size_t len;

    if (text[0] != MARK)
        return false;
    len = open_text(text + 1, plain);
    if (len == 0)
        return true;
    memcpy(&head, plain, sizeof head);
    if (head.node > NODE_MAX_NUMBER || head.node == node_self()->number || !clock_db_is_near(head.told_us))
        return true;
    t = teller_of(head.node);
    if (head.run > t->run || (head.run == t->run && head.part > t->part))
        take_part(t, &head, (const char *)plain + sizeof head, len - sizeof head);
    return true;
}
