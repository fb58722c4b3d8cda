#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * The configuration. options.def is the only table of options. The fields of struct config, the configuration file, the
 * command line, CONFIG GET, SET and REWRITE, and --help are made from it. A new option is one row there, one entry in
 * conf/pgdisque.conf and one in doc/config.md; a test compares them.
 *
 * Code reads a value from `config` each time it needs it, so that CONFIG SET acts at once. A module that must act on a
 * change registers a callback with config_on_change().
 */
/* Every client is of class normal; the others are kept for compatibility. */
#define OUTPUT_CLASSES(X)      \
    X(OUTPUT_NORMAL, "normal") \
    X(OUTPUT_REPLICA, "slave") \
    X(OUTPUT_PUBSUB, "pubsub")

enum output_class {
#define X(id, name) id,
    OUTPUT_CLASSES(X)
#undef X
        OUTPUT_CLASS_COUNT
};

/* Bytes that a client may leave unread; 0: no limit. Messages count by their size. Replies count only as long as the
 * client reads nothing of them. */
struct output_limit {
    size_t hard;
    size_t soft; /* exceeded for soft_seconds without a break */
    int soft_seconds;
};

/* A size in bytes, or a percentage of the size of another option. */
struct size_share {
    size_t bytes;
    int percent; /* 1 to 100; 0: bytes has the size */
};

/* When a commit counts as done, the strongest first: the value of the option durability, and the value of Postgres'
 * synchronous_commit. */
#define DURABILITIES(X)                                        \
    X(DURABILITY_REMOTE_APPLY, "remote-apply", "remote_apply") \
    X(DURABILITY_REMOTE_FLUSH, "remote-flush", "on")           \
    X(DURABILITY_REMOTE_WRITE, "remote-write", "remote_write") \
    X(DURABILITY_LOCAL, "local", "local")                      \
    X(DURABILITY_ASYNC, "async", "off")

enum durability {
#define X(id, name, setting) id,
    DURABILITIES(X)
#undef X
};

#define FLUSH_APART(X)          \
    X(FLUSH_APART_NO, "no")     \
    X(FLUSH_APART_AUTO, "auto") \
    X(FLUSH_APART_ALWAYS, "always")

enum flush_apart {
#define X(id, name) id,
    FLUSH_APART(X)
#undef X
};

#define DEBUG_ACCESS(X) \
    X(DEBUG_NO, "no")   \
    X(DEBUG_YES, "yes") \
    X(DEBUG_LOCAL, "local") /* connections over loopback or the unix socket */

enum debug_access {
#define X(id, name) id,
    DEBUG_ACCESS(X)
#undef X
};

/* The channels of a new user. */
#define PUBSUB_DEFAULTS(X)                 \
    X(PUBSUB_NO_CHANNELS, "resetchannels") \
    X(PUBSUB_ALL_CHANNELS, "allchannels")

enum pubsub_default {
#define X(id, name) id,
    PUBSUB_DEFAULTS(X)
#undef X
};

/* The type of ADDJOB's reply. A client may choose another type than the option. */
#define JOB_ID_REPLIES(X)      \
    X(JOB_ID_STATUS, "status") \
    X(JOB_ID_BULK, "bulk")

enum job_id_reply {
    JOB_ID_AS_SET, /* the client has chosen no type; the option applies */
#define X(id, name) id,
    JOB_ID_REPLIES(X)
#undef X
};

/* Certificates of clients with TLS. */
#define TLS_CLIENT_AUTH(X)   \
    X(TLS_CLIENT_NO, "no")   \
    X(TLS_CLIENT_YES, "yes") \
    X(TLS_CLIENT_OPTIONAL, "optional")

enum tls_client_auth {
#define X(id, name) id,
    TLS_CLIENT_AUTH(X)
#undef X
};

/* The part of a certificate that names the user. */
#define TLS_CLIENT_USER(X) \
    X(TLS_USER_OFF, "off") \
    X(TLS_USER_CN, "CN")

enum tls_client_user {
#define X(id, name) id,
    TLS_CLIENT_USER(X)
#undef X
};

/* A port that the server chooses. */
#define PORT_AUTO (-1)

/* The C field of each kind of option. Strings are never NULL. */
#define CONFIG_FIELD_BOOL(member) bool member;
#define CONFIG_FIELD_INT(member) int member;
#define CONFIG_FIELD_KEEPALIVE(member) int member;
#define CONFIG_FIELD_AUTO_PORT(member) int member;
#define CONFIG_FIELD_OCTAL(member) int member;
#define CONFIG_FIELD_SIZE(member) size_t member;
#define CONFIG_FIELD_SHARE(member) struct size_share member;
#define CONFIG_FIELD_ENUM(member) int member;
#define CONFIG_FIELD_STRING(member) char *member;
#define CONFIG_FIELD_WORDS(member) char *member;
#define CONFIG_FIELD_ADDRESSES(member) char *member;
#define CONFIG_FIELD_CONNINFO(member) char *member;
#define CONFIG_FIELD_LIMITS(member) struct output_limit member[OUTPUT_CLASS_COUNT];

/* The values. The name of a field is the option's name with _ for -, except output_limit. */
struct config {
#define SECTION(title)
#define OPTION(kind, member, name, text, bounds, flags, doc) CONFIG_FIELD_##kind(member)
#include "config/options.def"
#undef OPTION
#undef SECTION
};

extern struct config config;

enum config_flag {
    OPT_START = 0,         /* set in the file and on the command line only */
    OPT_RUNTIME = 1 << 0,  /* set by CONFIG SET, too */
    OPT_SECRET = 1 << 1,   /* the value never appears in logs and error texts */
    OPT_ACCEPTED = 1 << 2, /* accepted for compatibility, without effect */
};

struct config_kind;

struct config_name {
    const char *name;
    int value;
};

struct config_option {
    const char *name;
    const struct config_kind *kind;
    const char *text;                /* the default, in the syntax of the file */
    int64_t min;                     /* bound of a number or a size */
    int64_t max;                     /* bound of a number or a size; the longest string, in bytes */
    const struct config_name *names; /* the names of an ENUM; ends with a NULL name */
    unsigned flags;                  /* enum config_flag */
    size_t offset;                   /* in struct config */
    const char *doc;                 /* the meaning, in one sentence */
};

/* Sets every option to its default. Call it before any other function of this header. */
void config_defaults(void);

enum config_action { CONFIG_RUN, CONFIG_HELP, CONFIG_VERSION, CONFIG_CHECK };

/* Sets the defaults, then reads the file that the arguments name, then the options of the arguments:
 * [conf-file] [--option value ...]... [--help | --version | --check].
 * False with one line in err that names the place, the option and its allowed values. */
bool config_parse_args(int argc, char **argv, enum config_action *action, char *err,
                       size_t err_size) MUST_CHECK;
/* Reads a configuration file. path becomes the file of config_file() and CONFIG REWRITE. */
bool config_load_file(const char *path, char *err, size_t err_size) MUST_CHECK;
/* Prints the options with their defaults. */
void config_help(FILE *out);

/* The absolute path of the file that was read at start, or NULL. */
const char *config_file(void);
/* Writes the current values to that file. Comments, order and unchanged lines stay. The file is replaced as a whole or
 * not at all. False with the text for the client in err. */
bool config_rewrite(struct slice lines_of_users, char *err, size_t err_size) MUST_CHECK;
/* The lines "user name rule ..." of the file, in their order. acl/ reads them. CONFIG REWRITE replaces them by
 * lines_of_users. */
struct config_user_line {
    char *text;  /* without a line end */
    char *where; /* "file:12" */
};
const struct config_user_line *config_user_lines(size_t *count);

/* CONFIG SET: sets all of the count (name, value) pairs or none, then runs the change callbacks. False with the text
 * for the client in err, without its code. */
bool config_set_all(const struct slice *pairs, size_t count, char *err, size_t err_size) MUST_CHECK;
bool config_set(struct slice name, struct slice value, char *err, size_t err_size) MUST_CHECK;
/* fn runs after each CONFIG SET that changed the option. It runs once per CONFIG SET, even if several of its options
 * changed. It does not run for values that are read at start. name must be an option. */
void config_on_change(const char *name, void (*fn)(void));

/* fn runs in each CONFIG SET that names the option, even with its present value, before the change callbacks. It runs
 * once per CONFIG SET. If it returns false with a sentence in err, no option changes. */
void config_on_set(const char *name, bool (*fn)(char *err, size_t err_size));

/* The port of this server in texts for clients: tls-port if there is no port without TLS; 0: there is none. */
int config_own_port(void);

/* The options in the order of options.def. */
const struct config_option *config_options(size_t *count);
/* The title of the section that begins with option i of config_options(); NULL if none begins there. */
const char *config_section_at(size_t i);
const struct config_option *config_find(struct slice name);
/* Appends the value as CONFIG GET shows it: sizes in bytes, passwords of the database as ***. */
void config_show(const struct config_option *o, struct buf *out);
/* Appends the allowed values: "an integer from 0 to 65535". */
void config_allowed(const struct config_option *o, struct buf *out);

/* The connection string with passwords replaced by ***; "" for the embedded Postgres. For logs, INFO and CONFIG GET.
 * Valid until the next call. */
const char *config_database_redacted(void);

#endif
