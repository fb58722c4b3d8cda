#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/util.h"

/*
 * Levelled log lines to stderr, a file, or syslog:
 *
 *     7711 2026-11-20 18:30:00.123 * [database writes] connected ...
 *
 * If stderr is systemd's journal, the level is a number, and process and time are left out:
 *
 *     <5>[database writes] connected ...
 *
 * Levels and their marks . - * # are those of redis-server. Every line names its subject in brackets. The caller
 * escapes bytes from clients with log_escape(), so that no client can forge a line.
 */
#define LOG_LEVELS(X)               \
    X(LOG_DEBUG_, "debug", '.')     \
    X(LOG_VERBOSE_, "verbose", '-') \
    X(LOG_NOTICE_, "notice", '*')   \
    X(LOG_WARNING_, "warning", '#')

enum log_level {
#define X(id, name, mark) id,
    LOG_LEVELS(X)
#undef X
};

/* The option log-format. */
#define LOG_FORMATS(X)         \
    X(LOG_FORMAT_TEXT, "text") \
    X(LOG_FORMAT_JSON, "json")

enum log_format {
#define X(id, name) id,
    LOG_FORMATS(X)
#undef X
};

#define log_debug(who, ...) log_line(LOG_DEBUG_, who, __VA_ARGS__)
#define log_verbose(who, ...) log_line(LOG_VERBOSE_, who, __VA_ARGS__)
#define log_notice(who, ...) log_line(LOG_NOTICE_, who, __VA_ARGS__)
#define log_warning(who, ...) log_line(LOG_WARNING_, who, __VA_ARGS__)

/* who: the subject of the line, such as "database writes" or "client 12 127.0.0.1:4711". */
void log_line(enum log_level level, const char *who, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * A kind of line that clients can cause without limit. At most one line a second is written. It gives the number of
 * lines that were left out since the line before. All zero is a valid new kind.
 */
struct log_kind {
    int64_t written_us; /* clock_mono(); 0: never */
    uint64_t left_out;
};
void log_sometimes(struct log_kind *kind, enum log_level level, const char *who, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Logs a warning with the reason and ends the process with status 1. */
_Noreturn void log_fatal(const char *who, const char *fmt, ...) PRINTF_LIKE(2, 3);

void log_set_level(enum log_level level);
/* LOG_FORMAT_JSON: lines are JSON objects, log_json.h. The journal still gets the level as a number before the object. */
void log_set_format(enum log_format format);
/* Sends lines to a file; "" means stderr. False, with errno set, if the file cannot be opened. The old target then
 * stays in use. */
bool log_set_file(const char *path) MUST_CHECK;
/* Gives the file to a user, who may then open it again. The owner of a file that is not root's stays. */
void log_give_file(uid_t uid, gid_t gid);
/* Sends lines to syslog as well; ident NULL stops that. */
void log_set_syslog(const char *ident, int facility);

/* The first max bytes of s at most, quoted and escaped as by Redis' sdscatrepr(). The result is in a static buffer that
 * the next call overwrites. */
const char *log_escape(struct slice s, size_t max);

#endif
