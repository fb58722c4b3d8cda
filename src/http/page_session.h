#ifndef PAGE_SESSION_H
#define PAGE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include "acl/user.h"
#include "base/util.h"

/*
 * Sessions of the web page. A session begins with a right password, and its requests then run as the user. The browser
 * has a random token. The server keeps a hash of the token and the hash of the password, and neither of them itself.
 *
 * A session ends after PAGE_IDLE_US without use, after PAGE_LIFE_US, and as soon as its user is removed, is off, or has
 * lost the password. Sessions are in memory only: a restart ends them.
 */
#define PAGE_SESSIONS_MAX 1024
#define PAGE_SESSIONS_OF_USER_MAX 32
#define PAGE_IDLE_US (60 * 60 * US_PER_S)
#define PAGE_LIFE_US (24 * 60 * 60 * US_PER_S)

/* Bytes of a token as text, with its NUL. */
#define PAGE_TOKEN_SIZE 44
#define PAGE_KEY_BYTES 32

struct page_session;

/* Begins a session of a user who has given the password with this hash, and sets its token. A user with too many
 * sessions loses the one that has not been used for the longest time. */
void page_session_begin(struct user *u, const unsigned char password[PASSWORD_HASH_BYTES],
                        char token[PAGE_TOKEN_SIZE]);
/* The key of a token: the sessions are found by it. False if the text cannot be a token. */
bool page_session_key(struct slice token, unsigned char key[PAGE_KEY_BYTES]) MUST_CHECK;
/* The session, which is now in use; NULL if it has ended. */
struct page_session *page_session_use(const unsigned char key[PAGE_KEY_BYTES]);
/* It lives as long as the session. */
struct user *page_session_user(const struct page_session *s);
void page_session_end(struct page_session *s);
size_t page_session_count(void);

#endif
