/* Levelled log lines with an identity, to stderr or a file, and to syslog. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/log_json.h"
#include "base/node.h"

/* A line is built on the stack, because logging must work without free memory. */
#define LOG_LINE_MAX 4096

static const char level_marks[] = {
#define X(id, name, mark) [id] = mark,
    LOG_LEVELS(X)
#undef X
};

static const char *const level_names[] = {
#define X(id, name, mark) [id] = name,
    LOG_LEVELS(X)
#undef X
};

static const int syslog_priorities[] = {
    [LOG_DEBUG_] = LOG_DEBUG,
    [LOG_VERBOSE_] = LOG_INFO,
    [LOG_NOTICE_] = LOG_NOTICE,
    [LOG_WARNING_] = LOG_WARNING,
};

static enum log_level min_level = LOG_NOTICE_;
static enum log_format log_format;
static int log_fd = STDERR_FILENO;
static char *log_path; /* absolute; NULL: stderr */
static bool to_syslog;
static bool to_journal; /* standard error is systemd's journal */

/* systemd gives device and inode of the journal's stream in JOURNAL_STREAM. */
static bool is_journal(int fd) {
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

/* The directory may belong to the user that the server becomes later. As root the server follows no link in it. */
static int log_open_log(const char *path) {
    bool is_of_system = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
    int no_link = geteuid() == 0 && !is_of_system ? O_NOFOLLOW : 0;

    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | no_link, 0644);
}

static void use_file(int fd, char *path) {
    if (log_path != NULL)
        close(log_fd);
    free(log_path);
    log_fd = fd;
    log_path = path;
}

/* Makes a relative path absolute, because the working directory may change later. */
static char *absolute_path(const char *path) {
    char *cwd, *full;

    if (path[0] == '/')
        return xstrdup(path);
    cwd = getcwd(NULL, 0);
    if (cwd == NULL)
        return NULL;
    full = xasprintf("%s/%s", cwd, path);
    free(cwd);
    return full;
}

bool log_set_file(const char *path) {
    char *full;
    int fd;

    if (path[0] == '\0') {
        use_file(STDERR_FILENO, NULL);
        to_journal = is_journal(STDERR_FILENO);
        return true;
    }
    full = absolute_path(path);
    fd = full == NULL ? -1 : log_open_log(full);
    if (fd < 0) {
        int reason = errno;

        free(full);
        errno = reason;
        return false;
    }
    use_file(fd, full);
    to_journal = false;
    return true;
}

void log_give_file(uid_t uid, gid_t gid) {
    struct stat st;

    if (log_path != NULL && fstat(log_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
        st.st_nlink == 1)
        (void)!fchown(log_fd, uid, gid);
}

/* Opens a new file if the old one was renamed or removed, for example by logrotate. */
static void follow_rotation(void) {
    struct stat ours, named;
    int fd;

    if (log_path == NULL || fstat(log_fd, &ours) != 0)
        return;
    if (stat(log_path, &named) == 0 && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev)
        return;
    fd = log_open_log(log_path);
    if (fd < 0)
        return;
    close(log_fd);
    log_fd = fd;
}

void log_set_level(enum log_level level) {
    min_level = level;
}

void log_set_format(enum log_format format) {
    log_format = format;
}

void log_set_syslog(const char *ident, int facility) {
    static char *kept; /* openlog() keeps the pointer */

    if (to_syslog)
        closelog();
    free(kept);
    kept = ident == NULL ? NULL : xstrdup(ident);
    to_syslog = ident != NULL;
    if (to_syslog)
        openlog(kept, LOG_PID | LOG_NDELAY, facility);
}

/* The number of bytes that snprintf() has written into room bytes, from its result. */
static size_t written(int result, size_t room) {
    if (result < 0)
        return 0;
    return (size_t)result < room ? (size_t)result : room - 1;
}

/* The journal reads the level from a number at the beginning. */
static size_t format_journal_level(char *out, size_t room, enum log_level level) {
    return to_journal ? written(snprintf(out, room, "<%d>", syslog_priorities[level]), room) : 0;
}

/* The journal knows the process and the time itself. */
static size_t format_prefix(char *out, size_t room, enum log_level level) {
    struct timeval now;
    struct tm local;
    char date[32];

    if (to_journal)
        return format_journal_level(out, room, level);
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &local);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local);
    return written(snprintf(out, room, "%d %s.%03d %c ", (int)getpid(), date, (int)(now.tv_usec / 1000),
                            level_marks[level]),
                   room);
}

/* Makes one line of a text. Messages of the database or the system may have several lines. */
static size_t flatten(char *text, size_t len) {
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    }
    text[len] = '\0';
    return len;
}

static size_t format_json(char *out, size_t room, enum log_level level, const char *who, struct slice text) {
    struct timeval now;

    gettimeofday(&now, NULL);
    return log_json(out, room,
                    &(struct log_record){ .unix_ms = (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000,
                                          .level = level_names[level],
                                          .pid = (int)getpid(),
                                          .node = node_self()->id,
                                          .subject = who,
                                          .message = text });
}

static void emit(enum log_level level, const char *line, size_t len, const char *text) {
    ssize_t done;

    if (to_syslog)
        syslog(syslog_priorities[level], "%s", text);
    follow_rotation();
    /* A failed write is ignored: the server must go on, and has no other place to report it. */
    done = write(log_fd, line, len);
    (void)done;
}

static void log_args(enum log_level level, const char *who, const char *fmt, va_list args) PRINTF_LIKE(3, 0);
static void log_args(enum log_level level, const char *who, const char *fmt, va_list args) {
    char line[LOG_LINE_MAX], text[LOG_LINE_MAX];
    size_t prefix, len, room = sizeof(line) - 1; /* reserves one byte for the line feed */
    int reason = errno;

    if (level < min_level)
        return;
    len = flatten(text, written(vsnprintf(text, sizeof text, fmt, args), sizeof text));
    prefix = log_format == LOG_FORMAT_JSON ? format_journal_level(line, room, level)
                                           : format_prefix(line, room, level);
    if (log_format == LOG_FORMAT_JSON)
        len = prefix + format_json(line + prefix, room - prefix, level, who, (struct slice){ text, len });
    else
        len = prefix + written(snprintf(line + prefix, room - prefix, "[%s] %s", who, text), room - prefix);
    len = prefix + flatten(line + prefix, len - prefix);
    line[len] = '\n';
    line[len + 1] = '\0';
    /* The text for syslog() may end with a line feed. */
    emit(level, line, len + 1, line + prefix);
    errno = reason;
}

void log_line(enum log_level level, const char *who, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    log_args(level, who, fmt, args);
    va_end(args);
}

void log_sometimes(struct log_kind *kind, enum log_level level, const char *who, const char *fmt, ...) {
    int64_t now = clock_mono();
    char text[LOG_LINE_MAX];
    va_list args;

    if (level < min_level)
        return;
    if (kind->written_us != 0 && now - kind->written_us < US_PER_S) {
        kind->left_out++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (kind->left_out == 0)
        log_line(level, who, "%s", text);
    else
        log_line(level, who, "%s (and %llu more lines of this kind)", text,
                 (unsigned long long)kind->left_out);
    *kind = (struct log_kind){ .written_us = now };
}

void log_fatal(const char *who, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    log_args(LOG_WARNING_, who, fmt, args);
    va_end(args);
    exit(1);
}

static const struct escape {
    char byte;
    char letter;
} escapes[] = {
    { '\\', '\\' }, { '"', '"' }, { '\n', 'n' }, { '\r', 'r' }, { '\t', 't' }, { '\a', 'a' }, { '\b', 'b' },
};

static void escape_byte(struct buf *out, char byte) {
    for (size_t i = 0; i < LENGTH(escapes); i++) {
        if (escapes[i].byte == byte) {
            buf_append(out, (char[]){ '\\', escapes[i].letter }, 2);
            return;
        }
    }
    if ((unsigned char)byte >= ' ' && (unsigned char)byte < 0x7f)
        buf_append(out, &byte, 1);
    else
        buf_printf(out, "\\x%02x", (unsigned)(unsigned char)byte);
}

const char *log_escape(struct slice s, size_t max) {
    static struct buf out;
    size_t shown = s.len < max ? s.len : max;

    buf_reset(&out, LOG_LINE_MAX);
    buf_append(&out, "\"", 1);
    for (size_t i = 0; i < shown; i++)
        escape_byte(&out, s.ptr[i]);
    /* The mark of a cut text stands outside of the quotes, where no client can put it. */
    buf_append_str(&out, shown < s.len ? "\"..." : "\"");
    buf_append(&out, "", 1);
    return buf_ptr(&out);
}
