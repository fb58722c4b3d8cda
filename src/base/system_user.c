/* The system user of a server that root has started: its choice, and the change to it. */
#include "base/system_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The accounts to try if the option is empty. Debian always has the last one. */
static const char *const unprivileged_accounts[] = { "pgdisque", "postgres", "nobody" };

static const struct passwd *find_user(const char *wanted) {
    const struct passwd *pw = NULL;

    if (*wanted)
        return getpwnam(wanted);
    for (size_t i = 0; pw == NULL && i < LENGTH(unprivileged_accounts); i++)
        pw = getpwnam(unprivileged_accounts[i]);
    return pw;
}

bool system_user_choose(struct system_user *u, const char *wanted, char *err, size_t err_size) {
    const struct passwd *pw;

    *u = (struct system_user){ .uid = geteuid(), .gid = getegid() };
    if (u->uid != 0 || strcmp(wanted, "root") == 0)
        return true;
    pw = find_user(wanted);
    if (pw == NULL || pw->pw_uid == 0) {
        snprintf(err, err_size, "there is no unprivileged user%s%s: name one with --user", *wanted ? " " : "",
                 wanted);
        return false;
    }
    u->change = true;
    u->uid = pw->pw_uid;
    u->gid = pw->pw_gid;
    snprintf(u->name, sizeof u->name, "%s", pw->pw_name);
    snprintf(u->home, sizeof u->home, "%s", pw->pw_dir);
    return true;
}

/* Groups first, because only root can change them. */
static bool change_ids(const struct system_user *u) {
    return initgroups(u->name, u->gid) == 0 && setresgid(u->gid, u->gid, u->gid) == 0 &&
           setresuid(u->uid, u->uid, u->uid) == 0;
}

/* Kept capabilities would allow the return. */
static bool can_return(const struct system_user *u) {
    uid_t uids[3];
    gid_t gids[3];

    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 || getresgid(&gids[0], &gids[1], &gids[2]) != 0)
        return true;
    for (size_t i = 0; i < LENGTH(uids); i++)
        if (uids[i] != u->uid || gids[i] != u->gid)
            return true;
    return setuid(0) == 0 || seteuid(0) == 0 || (u->gid != 0 && setgid(0) == 0) || setgroups(0, NULL) == 0;
}

bool system_user_become(const struct system_user *u, char *err, size_t err_size) {
    int death_signal = 0;

    if (!u->change)
        return true;
    (void)prctl(PR_GET_PDEATHSIG, &death_signal);
    if (!change_ids(u)) {
        snprintf(err, err_size, "cannot become user %s: %s; --user names another, --user root stays root",
                 u->name, strerror(errno));
        return false;
    }
    if (can_return(u)) {
        snprintf(err, err_size, "the process could become root again after the change to user %s", u->name);
        return false;
    }
    /* The change of the user clears the signal. */
    (void)prctl(PR_SET_PDEATHSIG, death_signal);
    /* libpq looks for passwords and certificates there. */
    setenv("HOME", u->home, 1);
    return true;
}

bool system_user_make_dir(const struct system_user *u, const char *path, mode_t mode) {
    if (mkdir(path, mode) != 0)
        return errno == EEXIST;
    return !u->change || lchown(path, u->uid, u->gid) == 0;
}
