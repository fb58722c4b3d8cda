/* Sessions of the web page: logins without the password. */
#include "http/page_session.h"

#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/hash.h"

#define TOKEN_BYTES 32
#define TOKEN_VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

struct page_session {
    UT_hash_handle hh;
    unsigned char key[PAGE_KEY_BYTES];
    unsigned char password[PASSWORD_HASH_BYTES];
    struct user *user;
    int64_t began_us; /* clock_mono() */
    int64_t used_us;
};

static struct page_session *sessions;

_Static_assert(sodium_base64_ENCODED_LEN(TOKEN_BYTES, TOKEN_VARIANT) == PAGE_TOKEN_SIZE, "size of a token");

static void key_of_bytes(const unsigned char token[TOKEN_BYTES], unsigned char key[PAGE_KEY_BYTES]) {
    crypto_generichash(key, PAGE_KEY_BYTES, token, TOKEN_BYTES, NULL, 0);
}

bool page_session_key(struct slice token, unsigned char key[PAGE_KEY_BYTES]) {
    unsigned char bytes[TOKEN_BYTES];
    size_t len;

    if (sodium_base642bin(bytes, sizeof bytes, token.ptr, token.len, NULL, &len, NULL, TOKEN_VARIANT) != 0 ||
        len != sizeof bytes)
        return false;
    key_of_bytes(bytes, key);
    return true;
}

void page_session_end(struct page_session *s) {
    HASH_DEL(sessions, s);
    user_release(s->user);
    sodium_memzero(s, sizeof *s);
    free(s);
}

static bool is_over(const struct page_session *s) {
    return clock_mono() - s->used_us > PAGE_IDLE_US || clock_mono() - s->began_us > PAGE_LIFE_US ||
           !user_accepts(s->user, s->password);
}

static struct page_session *least_used_of(const struct user *u) {
    struct page_session *oldest = NULL;

    for (struct page_session *s = sessions; s != NULL; s = s->hh.next) {
        if ((u == NULL || s->user == u) && (oldest == NULL || s->used_us < oldest->used_us))
            oldest = s;
    }
    return oldest;
}

static size_t count_of(const struct user *u) {
    size_t count = 0;

    for (const struct page_session *s = sessions; s != NULL; s = s->hh.next)
        count += s->user == u;
    return count;
}

static void make_session_room(const struct user *u) {
    for (struct page_session *s = sessions, *next; s != NULL; s = next) {
        next = s->hh.next;
        if (is_over(s))
            page_session_end(s);
    }
    if (count_of(u) >= PAGE_SESSIONS_OF_USER_MAX)
        page_session_end(least_used_of(u));
    if (page_session_count() >= PAGE_SESSIONS_MAX)
        page_session_end(least_used_of(NULL));
}

void page_session_begin(struct user *u, const unsigned char password[PASSWORD_HASH_BYTES],
                        char token[PAGE_TOKEN_SIZE]) {
    struct page_session *s = xcalloc(1, sizeof *s);
    unsigned char bytes[TOKEN_BYTES];

    make_session_room(u);
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2base64(token, PAGE_TOKEN_SIZE, bytes, sizeof bytes, TOKEN_VARIANT);
    key_of_bytes(bytes, s->key);
    memcpy(s->password, password, PASSWORD_HASH_BYTES);
    s->user = user_hold(u);
    s->began_us = s->used_us = clock_mono();
    HASH_ADD(hh, sessions, key, PAGE_KEY_BYTES, s);
}

struct page_session *page_session_use(const unsigned char key[PAGE_KEY_BYTES]) {
    struct page_session *s;

    HASH_FIND(hh, sessions, key, PAGE_KEY_BYTES, s);
    if (s == NULL)
        return NULL;
    if (is_over(s)) {
        page_session_end(s);
        return NULL;
    }
    s->used_us = clock_mono();
    return s;
}

struct user *page_session_user(const struct page_session *s) {
    return s->user;
}

size_t page_session_count(void) {
    return HASH_COUNT(sessions);
}
