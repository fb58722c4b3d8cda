#ifndef LINE_OPTIONS_H
#define LINE_OPTIONS_H

#include "base/util.h"
#include "config/config.h"
#include "tools/redis_link.h"

/*
 * The arguments of a subcommand such as import: --options with and without values, and names. Errors are printed to
 * stderr with the name of the subcommand.
 */
/* An option. Exactly one of text, number, flag and list is set; it points to the place for the value. */
struct line_option {
    const char *name;
    char **text;
    int64_t *number;
    bool *flag;
    char **list;      /* for an option that may be repeated: room for argc values */
    size_t *listed;   /* number of values in list */
    int64_t min, max; /* bounds of a number */
};

/* Reads the arguments. names must have room for argc names. False after an error message. */
bool line_options_read(int argc, char **argv, const struct line_option *options, size_t count, char **names,
                       size_t *named) MUST_CHECK;

/* Prints "pgdisque <subcommand>: why: what" and returns false. */
bool line_refuse(const char *subcommand, const char *why, const char *what);

/* Prints the text for --help or --version. False if the action is another one. */
bool line_print(enum config_action action);

/* Reads the arguments of the server for a subcommand; argv[0] is not read. Returns LINE_RUNS, or the exit status if the
 * subcommand must not run: 0 after --help or --version, `refused` after an error message. --check is refused. */
#define LINE_RUNS (-1)
int line_read_config(const char *subcommand, int argc, char **argv, int refused) MUST_CHECK;

/* The options of TLS, named as in redis-cli. */
struct line_tls {
    struct redis_tls how;
    bool always; /* also for addresses without rediss:// */
};

#define LINE_TLS_OPTIONS(tls)                                                                           \
    { .name = "--tls", .flag = &(tls)->always }, { .name = "--cacert", .text = &(tls)->how.ca_file },   \
        { .name = "--cacertdir", .text = &(tls)->how.ca_dir },                                          \
        { .name = "--cert", .text = &(tls)->how.cert }, { .name = "--key", .text = &(tls)->how.key }, { \
        .name = "--insecure", .flag = &(tls)->how.insecure                                              \
    }

#define LINE_TLS_USAGE                                                                                      \
    "  --tls                  use TLS for both connections; an address rediss://... uses TLS by itself\n"   \
    "  --cacert file          the authorities of the servers' certificates, in PEM (those of the system)\n" \
    "  --cacertdir directory  the same as a directory\n"                                                    \
    "  --cert file            the certificate of the client\n"                                              \
    "  --key file             its private key\n"                                                            \
    "  --insecure             take any certificate of a server\n"

/* Connects to an address. False after an error message: the address is invalid, or no server answers there. */
bool line_connect(const char *subcommand, const char *address, int default_port, const struct line_tls *tls,
                  struct redis_pipe *p) MUST_CHECK;

#endif
