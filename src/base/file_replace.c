/* Replaces a file as a whole or not at all. */
#include "base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gives the new file the mode of the old file, and its owner if this process may change it. */
static bool copy_owner(const char *path, int fd) {
    struct stat old;

    if (stat(path, &old) != 0)
        return errno == ENOENT;
    if (fchown(fd, old.st_uid, old.st_gid) != 0 && errno != EPERM)
        return false;
    return fchmod(fd, old.st_mode & 07777) == 0;
}

static bool file_write_all(int fd, const struct buf *b) {
    size_t done = 0;

    while (done < buf_len(b)) {
        ssize_t n = write(fd, buf_ptr(b) + done, buf_len(b) - done);

        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Makes the rename durable. */
static bool sync_directory(const char *path) {
    char *copy = xstrdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    free(copy);
    return ok;
}

bool file_replace(const char *path, const struct buf *content) {
    char *temporary = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool ok = fd >= 0 && copy_owner(path, fd) && file_write_all(fd, content) && fsync(fd) == 0;

    if (ok)
        ok = rename(temporary, path) == 0 && sync_directory(path);
    if (fd >= 0) {
        int reason = errno;

        close(fd);
        if (!ok)
            unlink(temporary);
        errno = reason;
    }
    free(temporary);
    return ok;
}
