#ifndef LINE_ACCESS_H
#define LINE_ACCESS_H

#include "tools/line_options.h"
#include "tools/redis_link.h"

/*
 * The connections of a tool to a pgdisque or a Redis: addresses, passwords, TLS. A password never has to be an argument:
 * it comes from the environment, or the tool asks for it on the terminal.
 */

/* The options of TLS, named as in redis-cli. */
struct line_tls {
    struct redis_tls how;
    bool always; /* also for addresses without rediss:// */
};

/* The rows for a struct with a field `member` of type struct line_tls. */
#define LINE_TLS_OPTIONS(type, member)                                                                           \
    { "--tls",                                                                                                   \
      LINE_FLAG,                                                                                                 \
      NULL,                                                                                                      \
      offsetof(type, member.always),                                                                             \
      0,                                                                                                         \
      0,                                                                                                         \
      "use TLS; an address rediss://... uses TLS by itself" },                                                   \
        { "--cacert",                                                                                            \
          LINE_TEXT,                                                                                             \
          "file",                                                                                                \
          offsetof(type, member.how.ca_file),                                                                    \
          0,                                                                                                     \
          0,                                                                                                     \
          "the authorities of the server's certificate, in PEM (those of the system)" },                         \
        { "--cacertdir",                                                                                         \
          LINE_TEXT,                                                                                             \
          "directory",                                                                                           \
          offsetof(type, member.how.ca_dir),                                                                     \
          0,                                                                                                     \
          0,                                                                                                     \
          "the same as a directory" },                                                                           \
        { "--cert", LINE_TEXT, "file", offsetof(type, member.how.cert), 0, 0, "the certificate of the client" }, \
        { "--key", LINE_TEXT, "file", offsetof(type, member.how.key), 0, 0, "its private key" }, {               \
        "--insecure", LINE_FLAG, NULL, offsetof(type, member.how.insecure), 0, 0,                                \
            "take any certificate of a server"                                                                   \
    }

/* The server of a tool that has one. */
struct line_server {
    char *address; /* NULL: of the environment, or the default */
    char *user;    /* NULL: that of the address */
    bool ask;      /* ask for the password first */
    struct line_tls tls;
};

/* For a tool that has_config, whose options of the server may have the other names. */
#define LINE_SERVER_INSTEAD(type, member)                                                             \
    { "--server",                                                                                     \
      LINE_TEXT,                                                                                      \
      "address",                                                                                      \
      offsetof(type, member.address),                                                                 \
      0,                                                                                              \
      0,                                                                                              \
      "the address of the server, without a conf-file and options of the server (PGDISQUE_SERVER)" }, \
        LINE_TLS_OPTIONS(type, member.tls)

#define LINE_SERVER_OPTIONS(type, member)                                                                  \
    { "--server",                                                                                          \
      LINE_TEXT,                                                                                           \
      "address",                                                                                           \
      offsetof(type, member.address),                                                                      \
      0,                                                                                                   \
      0,                                                                                                   \
      "the address of the server (that of PGDISQUE_SERVER, or 127.0.0.1:7711)" },                          \
        { "--user",                                                                                        \
          LINE_TEXT,                                                                                       \
          "name",                                                                                          \
          offsetof(type, member.user),                                                                     \
          0,                                                                                               \
          0,                                                                                               \
          "log in as this user; the password comes from the address, PGDISQUE_PASSWORD or the terminal" }, \
        { "--askpass", LINE_FLAG, NULL, offsetof(type, member.ask), 0, 0, "ask for the password first" },  \
        LINE_TLS_OPTIONS(type, member.tls)

/* A paragraph of --help for tools with addresses. */
#define LINE_ADDRESS_TEXT                                                                                    \
    "An address is redis://[[user:]password@]host[:port][/db], rediss://... for TLS, unix:///path or /path " \
    "for a socket, or host:port."

/* The names of variables of the environment with passwords. */
#define LINE_PASSWORD_OF_SERVER "PGDISQUE_PASSWORD"
#define LINE_PASSWORD_OF_REDIS "REDISCLI_AUTH"

/* Connects to an address. The password comes from the address, from the variable, or from the terminal if the server
 * demands one. False after an error message that says what to do. */
bool line_connect(const char *tool, const char *address, int default_port, const struct line_tls *tls,
                  const char *variable, struct redis_pipe *p) MUST_CHECK;
/* Connects to the server of the tool. */
bool line_server_connect(const char *tool, const struct line_server *s, struct redis_pipe *p) MUST_CHECK;
/* The same without a message, for a second connection. It does not ask. */
bool line_server_reconnect(const struct line_server *s, struct redis_pipe *p) MUST_CHECK;
/* True if a tool that has_config connects to an address: that of --server, or that of PGDISQUE_SERVER if the command line
 * has no conf-file and no option of the server. */
bool line_server_is_named(const struct line_server *s);
/* Prints an error and returns false if the command line has --server and options of the server. */
bool line_server_fits(const char *tool, const struct line_server *s) MUST_CHECK;

/* Prints an error of a server with an advice. Returns false. */
bool line_refuse_reply(const char *tool, const char *error);
/* The same for a tool that finds the server by the options of the server. Names the address. */
bool line_refuse_own(const char *tool, const char *address, const char *error);

#endif
