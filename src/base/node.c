/* The servers of one database: the table of servers, and the ID file of this server. */
#include "base/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "base/util.h"

/* ---- All servers ---- */

static struct node self;
static struct node *others[NODE_MAX_NUMBER + 1]; /* by number; never freed, so pointers stay valid */
static size_t last;                              /* the highest number in others */

struct node *node_self(void) {
    return &self;
}

struct node *node_by_number(uint16_t number) {
    if (number == 0 || number > NODE_MAX_NUMBER)
        return NULL;
    return number == self.number ? &self : others[number];
}

static bool runs(const struct node *n) {
    return n->live;
}

static bool node_is_known(const struct node *n) {
    return n->id[0] != '\0' && !n->left;
}

static bool is_named(const struct node *n) {
    return n->live && n->id[0] != '\0';
}

/* This server, and the other servers for which is_wanted() is true. */
static struct node *const *list_nodes(bool (*is_wanted)(const struct node *n), size_t *count) {
    static struct node *list[NODE_MAX_NUMBER + 2];

    *count = 0;
    list[(*count)++] = &self;
    for (size_t i = 1; i <= last; i++) {
        if (others[i] != NULL && i != self.number && is_wanted(others[i]))
            list[(*count)++] = others[i];
    }
    return list;
}

struct node *const *node_all(size_t *count) {
    return list_nodes(runs, count);
}

struct node *const *node_named(size_t *count) {
    return list_nodes(is_named, count);
}

struct node *const *node_known(size_t *count) {
    return list_nodes(node_is_known, count);
}

bool node_has_peers(void) {
    size_t count;

    (void)node_all(&count);
    return count > 1;
}

bool node_is_leader(void) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    for (size_t i = 1; i < count; i++)
        if (nodes[i]->number < self.number)
            return false;
    return true;
}

static void copy_row(struct node *to, const struct node *from) {
    memcpy(to->id, from->id, sizeof to->id);
    memcpy(to->addr, from->addr, sizeof to->addr);
    to->number = from->number;
    to->port = from->port;
    to->leaving = from->leaving;
    to->left = from->left;
    to->seen_us = from->seen_us;
}

struct node *node_get(uint16_t number) {
    if (number == 0 || number > NODE_MAX_NUMBER)
        return NULL;
    if (others[number] == NULL) {
        others[number] = xcalloc(1, sizeof *others[number]);
        others[number]->number = number;
    }
    if (number > last)
        last = number;
    return others[number];
}

/* The row may belong to another server than the last row with this number. */
void node_update(const struct node *n) {
    if (n->number == 0 || n->number > NODE_MAX_NUMBER)
        return;
    if (strcmp(n->id, self.id) == 0) {
        self.number = n->number;
        return;
    }
    copy_row(node_get(n->number), n);
}

void node_forget(struct node *n) {
    n->live = false;
    n->left = true;
}

/* ---- The ID file ---- */

struct id_file {
    char *path;
    char *temp_path;
    const char *dir;
    char *err;
    size_t err_size;
};

/* Stays open until the process ends, because closing it would release the lock. */
static int lock_fd = -1;

static bool node_fail(const struct id_file *f, const char *what) {
    snprintf(f->err, f->err_size, "%s %s: %s", what, f->path, strerror(errno));
    return false;
}

static bool lock_file(const struct id_file *f, int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return node_fail(f, "cannot lock");
    snprintf(f->err, f->err_size,
             "%s is in use by another running server: stop that one, or choose another port or directory",
             f->path);
    return false;
}

/* Does the path still name the open file? store_new_id() replaces the file. */
static bool is_current(const struct id_file *f, int fd) {
    struct stat ours, named;

    return fstat(fd, &ours) == 0 && stat(f->path, &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

/* Opens and locks the file that the path names. A new file is empty. The directory may belong to another user than root, so
 * no link is followed. */
static bool open_locked(const struct id_file *f, int *out) {
    for (;;) {
        int fd = open(f->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
            return node_fail(f, "cannot open");
        if (!lock_file(f, fd)) {
            close(fd);
            return false;
        }
        if (is_current(f, fd)) {
            *out = fd;
            return true;
        }
        close(fd);
    }
}

/* Fills self.id. True with an empty ID if the file is new. */
static bool read_id(const struct id_file *f, int fd) {
    char text[NODE_ID_LEN + 2] = { 0 };
    ssize_t len = pread(fd, text, sizeof(text), 0);

    if (len < 0)
        return node_fail(f, "cannot read");
    self.id[0] = '\0';
    if (len == 0)
        return true;
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len != NODE_ID_LEN || strspn(text, "0123456789abcdef") < NODE_ID_LEN) {
        snprintf(f->err, f->err_size,
                 "%s does not hold a node ID of %d hex digits: correct it, or remove it to get a new ID",
                 f->path, NODE_ID_LEN);
        return false;
    }
    memcpy(self.id, text, NODE_ID_LEN);
    self.id[NODE_ID_LEN] = '\0';
    return true;
}

static void make_id(char id[NODE_ID_LEN + 1]) {
    unsigned char bytes[NODE_ID_LEN / 2];

    randombytes_buf(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id);
}

/* Makes the rename durable. Errors are ignored, because some file systems cannot sync a directory. */
static void sync_dir(const char *dir) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static bool write_id(const struct id_file *f, int fd, const char *id) {
    char line[NODE_ID_LEN + 2];
    int len = snprintf(line, sizeof(line), "%s\n", id);

    return write(fd, line, (size_t)len) == len && fsync(fd) == 0 && rename(f->temp_path, f->path) == 0;
}

/*
 * Writes a new ID to a second file and renames it to the path. The second file is locked before the rename, so that the
 * path names a locked file at all times.
 */
static bool store_new_id(const struct id_file *f, int *fd) {
    char id[NODE_ID_LEN + 1];
    int temp = open(f->temp_path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (temp < 0)
        return node_fail(f, "cannot write a new ID for");
    make_id(id);
    if (!lock_file(f, temp)) {
        close(temp);
        return false;
    }
    if (!write_id(f, temp, id)) {
        node_fail(f, "cannot write");
        unlink(f->temp_path);
        close(temp);
        return false;
    }
    sync_dir(f->dir);
    close(*fd);
    *fd = temp;
    memcpy(self.id, id, sizeof(id));
    return true;
}

static bool load(const struct id_file *f) {
    int fd;

    if (!open_locked(f, &fd))
        return false;
    if (!read_id(f, fd) || (self.id[0] == '\0' && !store_new_id(f, &fd))) {
        close(fd);
        return false;
    }
    lock_fd = fd;
    return true;
}

static bool has_randomness(char *err, size_t err_size) {
    if (sodium_init() >= 0)
        return true;
    snprintf(err, err_size, "the system provides no random numbers");
    return false;
}

bool node_make_guest(char *err, size_t err_size) {
    if (!has_randomness(err, err_size))
        return false;
    make_id(self.id);
    return true;
}

bool node_load(const char *dir, int port, char *err, size_t err_size) {
    struct id_file f = { .dir = dir, .err = err, .err_size = err_size };
    bool ok;

    if (!has_randomness(err, err_size))
        return false;
    f.path = xasprintf("%s/node-%d.id", dir, port);
    f.temp_path = xasprintf("%s.tmp", f.path);
    ok = load(&f);
    if (ok)
        self.port = port;
    free(f.path);
    free(f.temp_path);
    return ok;
}
