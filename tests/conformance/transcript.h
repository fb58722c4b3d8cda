#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* A transcript: the cases of a command, as steps. README.md has the notation. */
#define STEPS(X)                                                                 \
    X(STEP_SEND, ">")          /* [a]> words */                                  \
    X(STEP_REPLY, "<")         /* [a]< pattern */                                \
    X(STEP_SAME, "&")          /* & pattern: of the last reply once more */      \
    X(STEP_RAW_SEND, "raw>")   /* [a]raw> "bytes" */                             \
    X(STEP_RAW_REPLY, "raw<")  /* [a]raw< "bytes" */                             \
    X(STEP_CLOSED, "closed")   /* [a]closed: the server has closed it */         \
    X(STEP_CLOSE, "close")     /* [a]close: we close it */                       \
    X(STEP_SILENT, "silent")   /* [a]silent: nothing has come */                 \
    X(STEP_UNTIL, "until")     /* until words: repeat until the reply fits */    \
    X(STEP_HOLDS, "holds")     /* holds ms words: the reply fits all the time */ \
    X(STEP_BLOCKED, "blocked") /* blocked n: so many clients wait */             \
    X(STEP_MARK, "mark")       /* mark: the clock starts */                      \
    X(STEP_ELAPSED, "elapsed") /* elapsed low..high: ms since then */            \
    X(STEP_RESTART, "restart") /* restart: the transcript's own server */        \
    X(STEP_ENDED, "ended")     /* ended: its own server ends with status 0 */

enum step_kind {
#define X(id, word) id,
    STEPS(X)
#undef X
};

struct step {
    enum step_kind kind;
    int line;
    char conn[16]; /* the connection's name; "main" is the default */
    char *text;    /* the rest of the line */
};

struct test_case {
    char *title;
    int line;
    struct step *steps;
    size_t count;
};

struct transcript {
    char name[64]; /* the file's, without .txt */
    const char *path;
    char *options[24]; /* "server" lines: options of a server of its own */
    int option_count;
    struct test_case *cases;
    size_t count;
};

/* Reads a file; ends the program with a message when it is not a transcript. */
void transcript_load(struct transcript *t, const char *path);
void transcript_free(struct transcript *t);

#endif
