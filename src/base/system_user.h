#ifndef SYSTEM_USER_H
#define SYSTEM_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"

/* The system user of a server that root has started. */
struct system_user {
    bool change; /* this process is root and has to become the user */
    uid_t uid;
    gid_t gid;
    char name[64];   /* "" if change is false */
    char home[4096]; /* "" if change is false */
};

/*
 * Selects the user that system_user_become() changes to. wanted is the name of an account. If it is "", the function
 * takes the first account of its list that exists. If it is "root", or if root has not started this process, the
 * process stays the user that it is. False with a sentence in err.
 */
bool system_user_choose(struct system_user *u, const char *wanted, char *err, size_t err_size) MUST_CHECK;

/*
 * Becomes the user for good: groups, group, user, HOME. The process cannot return to root, which this function checks.
 * The signal at the death of the parent stays. False with a sentence in err; the process then has to end.
 */
bool system_user_become(const struct system_user *u, char *err, size_t err_size) MUST_CHECK;

/* Makes a directory for the user. True if it exists already; then its owner stays. False with errno. */
bool system_user_make_dir(const struct system_user *u, const char *path, mode_t mode) MUST_CHECK;

#endif
