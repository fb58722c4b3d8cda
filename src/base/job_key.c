/* The numbers of jobs and the IDs that clients see: create, parse, verify. */
#include "base/job_key.h"

/* For SHA256_Transform(), which OpenSSL has declared deprecated in favour of EVP. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <endian.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/saturate.h"

#define NODE_BITS 10
#define COUNTER_BITS 12
#define COUNTER_MAX ((1 << COUNTER_BITS) - 1)
#define NODE_MASK ((1 << NODE_BITS) - 1)
#define SHA256_LEN 32

/* ---- The 63-bit number ---- */

static int64_t last_id;

static int64_t compose(int64_t ms, uint16_t node, int64_t counter) {
    return ms << (NODE_BITS + COUNTER_BITS) | (int64_t)(node & NODE_MASK) << COUNTER_BITS | counter;
}

/* The number as job_new_id() made it. A job that was added before all others has the negative number. */
static int64_t made(int64_t id) {
    return id < 0 ? int64_minus(0, id) : id;
}

static int64_t id_ms(int64_t id) {
    return made(id) >> (NODE_BITS + COUNTER_BITS);
}

/* The next number in the millisecond of last_id, or the first number of the next millisecond. */
static int64_t successor(uint16_t node) {
    int64_t ms = id_ms(last_id), counter = job_id_counter(last_id);
    int64_t id = compose(ms, node, counter + 1);

    /* If the server's number has changed, id may be less than last_id. */
    if (counter == COUNTER_MAX || id <= last_id)
        return compose(ms + 1, node, 0);
    return id;
}

int64_t job_new_id(int64_t db_us, uint16_t node) {
    int64_t ms = db_us / 1000 - JOBID_EPOCH_MS;

    /* The clock stands still within a turn and may step back. The numbers must always grow. */
    last_id = ms > id_ms(last_id) ? compose(ms, node, 0) : successor(node);
    return last_id;
}

int64_t job_id_last(void) {
    return last_id;
}

int64_t job_id_at(int64_t us) {
    return compose(us / 1000 - JOBID_EPOCH_MS + 1, 0, 0) - 1;
}

int64_t job_created_us(int64_t id) {
    return (id_ms(id) + JOBID_EPOCH_MS) * 1000;
}

uint16_t job_id_node(int64_t id) {
    return (uint16_t)(made(id) >> COUNTER_BITS & NODE_MASK);
}

uint16_t job_id_counter(int64_t id) {
    return (uint16_t)(made(id) & COUNTER_MAX);
}

#define MOST_BACKOFF_S 3600
#define MOST_DOUBLINGS 12
#define JITTERS 1009 /* a prime number, so that ids of successive milliseconds have different jitters */

int64_t job_backoff_us(int64_t id, int64_t backoff_s, int32_t deliveries) {
    int32_t doublings = deliveries - 1 < MOST_DOUBLINGS ? deliveries - 1 : MOST_DOUBLINGS;
    int64_t us = (backoff_s << doublings) * US_PER_S;
    int64_t jitter = llabs(id % JITTERS * deliveries) % JITTERS;

    us += us * jitter / (8 * (JITTERS - 1));
    return us < MOST_BACKOFF_S * US_PER_S ? us : MOST_BACKOFF_S * US_PER_S;
}

/* ---- Base64: 18 bytes are 24 characters, without padding ---- */

#define RAW_LEN 18
#define TEXT_LEN 24

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a character plus one; 0: the character is invalid. */
static const unsigned char values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

static void base64_encode(const unsigned char raw[RAW_LEN], char *out) {
    for (int i = 0; i < RAW_LEN; i += 3) {
        uint32_t group = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];

        out[0] = alphabet[group >> 18];
        out[1] = alphabet[group >> 12 & 63];
        out[2] = alphabet[group >> 6 & 63];
        out[3] = alphabet[group & 63];
        out += 4;
    }
}

static bool base64_decode(const char *text, unsigned char raw[RAW_LEN]) {
    const unsigned char *in = (const unsigned char *)text;

    for (int i = 0; i < TEXT_LEN; i += 4) {
        unsigned a = values[in[i]], b = values[in[i + 1]], c = values[in[i + 2]], d = values[in[i + 3]];
        uint32_t group = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);

        if (a == 0 || b == 0 || c == 0 || d == 0)
            return false;
        *raw++ = (unsigned char)(group >> 16);
        *raw++ = (unsigned char)(group >> 8);
        *raw++ = (unsigned char)group;
    }
    return true;
}

/* ---- The ID ---- */

#define NODE_AT 2
#define NODE_LEN 8
#define RAW_AT 11
#define TTL_AT 36
#define TTL_LEN 4
#define HALF_LEN (RAW_LEN / 2)
#define ZEROS_AT 4
#define ZEROS_LEN 5
#define ID_AT HALF_LEN
#define PRIORITY_AT (RAW_LEN - 1)
#define MAX_MINUTES 65535

/* The input of a round, as the single block that SHA-256 makes of it. The digits of node and TTL stand outside of
 * the enciphered bytes. They are part of the input, so that a client cannot change them. */
struct block {
    unsigned char secret[JOBID_SECRET_LEN];
    unsigned char number;
    unsigned char node[NODE_LEN];
    unsigned char ttl[TTL_LEN];
    unsigned char half[HALF_LEN];
    unsigned char end; /* 0x80, the begin of SHA-256's padding */
    unsigned char zeros[SHA256_CBLOCK - JOBID_SECRET_LEN - 1 - NODE_LEN - TTL_LEN - HALF_LEN - 3];
    unsigned char bits[2]; /* the length of the input before `end`, in bits */
};

_Static_assert(sizeof(struct block) == SHA256_CBLOCK, "a round hashes one block");

static unsigned char mac_key[JOBID_SECRET_LEN];

/* A cache of the last ID. On a hand-off, the client that adds a job and the waiting client get the same ID in one
 * turn. */
static struct {
    struct job_key key;
    char node[NODE_LEN];
    int64_t ttl_s;
    bool at_least_once;
    bool known;
    char text[JOBID_LEN];
} last_made;

void jobid_set_secret(const unsigned char secret[JOBID_SECRET_LEN]) {
    memcpy(mac_key, secret, JOBID_SECRET_LEN);
    last_made.known = false;
}

/* SHA-256 of the secret and the input. All calls share one context, because fetching the algorithm takes longer than
 * computing the hash. */
static void keyed_hash(const void *input, size_t len, unsigned char hash[SHA256_LEN]) {
    static EVP_MD_CTX *ctx;
    bool ok;

    if (ctx == NULL)
        ok = (ctx = EVP_MD_CTX_new()) != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
    else
        ok = EVP_DigestInit_ex(ctx, NULL, NULL) == 1;
    if (!ok || EVP_DigestUpdate(ctx, mac_key, sizeof mac_key) != 1 ||
        EVP_DigestUpdate(ctx, input, len) != 1 || EVP_DigestFinal_ex(ctx, hash, NULL) != 1)
        abort();
}

/* XORs the first HALF_LEN bytes of the hash into half. */
static void xor_hash(unsigned char half[HALF_LEN], const SHA256_CTX *hash) {
    uint64_t first = htobe64((uint64_t)hash->h[0] << 32 | hash->h[1]), bytes;

    memcpy(&bytes, half, sizeof bytes);
    bytes ^= first;
    memcpy(half, &bytes, sizeof bytes);
    half[8] ^= (unsigned char)(hash->h[2] >> 24);
}

/* Round 0 changes the first half with a hash of the second half. Round 1 changes the second half with a hash of the
 * first half. The hash is computed without EVP, whose overhead is larger than SHA-256 of one block. */
static void run_round(struct block *in, int number, unsigned char raw[RAW_LEN]) {
    SHA256_CTX hash;

    in->number = (unsigned char)number;
    memcpy(in->half, raw + (1 - number) * HALF_LEN, HALF_LEN);
    SHA256_Init(&hash);
    SHA256_Transform(&hash, (const unsigned char *)in);
    xor_hash(raw + number * HALF_LEN, &hash);
}

static struct block block_of(const char *text) {
    struct block in = {
        .end = 0x80, .bits = { offsetof(struct block, end) * 8 >> 8, offsetof(struct block, end) * 8 & 255 }
    };

    memcpy(in.secret, mac_key, sizeof in.secret);
    memcpy(in.node, text + NODE_AT, NODE_LEN);
    memcpy(in.ttl, text + TTL_AT, TTL_LEN);
    return in;
}

static void encipher(const char *text, unsigned char raw[RAW_LEN]) {
    struct block in = block_of(text);

    run_round(&in, 0, raw);
    run_round(&in, 1, raw);
}

static void decipher(const char *text, unsigned char raw[RAW_LEN]) {
    struct block in = block_of(text);

    run_round(&in, 1, raw);
    run_round(&in, 0, raw);
}

/* Hashes twice, because texts have different lengths: a hash of secret and text alone can be extended. */
uint64_t jobid_seal(struct slice text) {
    unsigned char hash[SHA256_LEN];
    uint64_t seal = 0;

    keyed_hash(text.ptr, text.len, hash);
    keyed_hash(hash, sizeof hash, hash);
    for (int i = 0; i < 8; i++)
        seal = seal << 8 | hash[i];
    return seal;
}

void jobid_derive_key(const char *purpose, unsigned char key[JOBID_DERIVED_LEN]) {
    crypto_generichash(key, JOBID_DERIVED_LEN, (const unsigned char *)purpose, strlen(purpose), mac_key,
                       sizeof mac_key);
}

/* Writes a big-endian number of size bytes. */
static inline void put_number(unsigned char *out, size_t size, uint64_t value) {
    while (size > 0) {
        out[--size] = (unsigned char)value;
        value >>= 8;
    }
}

static uint64_t get_number(const unsigned char *bytes, size_t size) {
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Writes the minutes as four hex digits. The lowest bit is set for at-least-once jobs. */
static void put_ttl(char *out, int64_t ttl_s, bool at_least_once) {
    int64_t minutes = ttl_s < 0 ? 0 : ttl_s / 60;
    unsigned char bytes[2];
    char digits[TTL_LEN + 1];

    if (minutes > MAX_MINUTES)
        minutes = MAX_MINUTES;
    put_number(bytes, sizeof(bytes), ((uint64_t)minutes & ~UINT64_C(1)) | at_least_once);
    hex_encode(bytes, sizeof(bytes), digits);
    memcpy(out, digits, TTL_LEN);
}

static void job_key_make(char out[JOBID_LEN], struct job_key key, const char *node_id, int64_t ttl_s,
                         bool at_least_once) {
    unsigned char raw[RAW_LEN];

    memcpy(out, "D-", 2);
    memcpy(out + NODE_AT, node_id, NODE_LEN);
    out[RAW_AT - 1] = out[TTL_AT - 1] = '-';
    put_ttl(out + TTL_AT, ttl_s, at_least_once);
    put_number(raw, ZEROS_AT, (uint32_t)key.queue_id);
    memset(raw + ZEROS_AT, 0, ZEROS_LEN);
    put_number(raw + ID_AT, 8, (uint64_t)key.id);
    raw[PRIORITY_AT] = (unsigned char)-key.rank;
    encipher(out, raw);
    base64_encode(raw, out + RAW_AT);
}

static bool is_last_made(struct job_key key, const char *node_id, int64_t ttl_s, bool at_least_once) {
    return last_made.known && key.id == last_made.key.id && key.queue_id == last_made.key.queue_id &&
           key.rank == last_made.key.rank && ttl_s == last_made.ttl_s &&
           at_least_once == last_made.at_least_once && memcmp(node_id, last_made.node, NODE_LEN) == 0;
}

void jobid_format(char out[JOBID_LEN], struct job_key key, const char *node_id, int64_t ttl_s,
                  bool at_least_once) {
    if (!is_last_made(key, node_id, ttl_s, at_least_once)) {
        job_key_make(last_made.text, key, node_id, ttl_s, at_least_once);
        memcpy(last_made.node, node_id, NODE_LEN);
        last_made.key = key;
        last_made.ttl_s = ttl_s;
        last_made.at_least_once = at_least_once;
        last_made.known = true;
    }
    memcpy(out, last_made.text, JOBID_LEN);
}

static bool has_form(struct slice text) {
    const char *p = text.ptr;

    return text.len == JOBID_LEN && p[0] == 'D' && p[1] == '-' && p[RAW_AT - 1] == '-' &&
           p[TTL_AT - 1] == '-';
}

enum jobid_check jobid_parse(struct slice text, struct job_key *key) {
    unsigned char raw[RAW_LEN];

    if (!has_form(text))
        return JOBID_BAD;
    if (!base64_decode(text.ptr + RAW_AT, raw))
        return JOBID_UNKNOWN;
    decipher(text.ptr, raw);
    if (!sodium_is_zero(raw + ZEROS_AT, ZEROS_LEN))
        return JOBID_UNKNOWN;
    key->queue_id = (int32_t)get_number(raw, ZEROS_AT);
    key->id = (int64_t)get_number(raw + ID_AT, 8);
    key->rank = (int16_t)-raw[PRIORITY_AT];
    return JOBID_OK;
}

static bool parse_token(struct slice text, int64_t *token) {
    return text.ptr[0] == ':' && parse_int_strict((struct slice){ text.ptr + 1, text.len - 1 }, token) &&
           *token > 0;
}

enum jobid_check jobid_parse_token(struct slice text, struct job_key *key, int64_t *token) {
    *token = 0;
    if (text.len <= JOBID_LEN)
        return jobid_parse(text, key);
    if (!parse_token((struct slice){ text.ptr + JOBID_LEN, text.len - JOBID_LEN }, token))
        return JOBID_BAD;
    return jobid_parse((struct slice){ text.ptr, JOBID_LEN }, key);
}

/* ---- keys of several queues ---- */

static int compare_queues_of_keys(const void *a, const void *b) {
    const struct job_key *x = a, *y = b;

    return (x->queue_id > y->queue_id) - (x->queue_id < y->queue_id);
}

void job_keys_sort_queues(struct job_key *keys, size_t count) {
    qsort(keys, count, sizeof *keys, compare_queues_of_keys);
}

size_t job_keys_of_queue(const struct job_key *keys, size_t count) {
    size_t same = 1;

    while (same < count && keys[same].queue_id == keys[0].queue_id)
        same++;
    return same;
}

const struct job_key *job_keys_find_queue(const struct job_key *keys, size_t count, int32_t queue_id) {
    struct job_key wanted = { .queue_id = queue_id };

    return count == 0 ? NULL : bsearch(&wanted, keys, count, sizeof *keys, compare_queues_of_keys);
}
