#ifndef COMMAND_DOCS_H
#define COMMAND_DOCS_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Parser for the synopsis of a command in commands.def:
 *
 *     word            a value              WORD            a literal
 *     WORD word       a value after its literal
 *     [ ... ]         optional             a | b, A|B      alternatives
 *     x ..., x [x ...]  one or more
 *     WORD x [WORD x ...]  one or more, each with the literal
 *
 * The result is a tree with the structure of Redis' COMMAND DOCS. redis-cli shows hints from it.
 */
#define DOC_TYPES(X)                \
    X(DOC_STRING, "string")         \
    X(DOC_INTEGER, "integer")       \
    X(DOC_PURE_TOKEN, "pure-token") \
    X(DOC_ONEOF, "oneof")           \
    X(DOC_BLOCK, "block")

enum doc_type {
#define X(id, name) id,
    DOC_TYPES(X)
#undef X
};

struct doc_arg {
    enum doc_type type;
    struct slice name;  /* name of a value as in the synopsis; empty for groups */
    struct slice token; /* the literal, or the literal before a value; empty: none */
    bool optional;
    bool multiple;
    bool repeats_token; /* each of the multiple has the literal */
    short children;     /* number of children */
    short first;        /* index of the first child, -1: none */
    short next;         /* index of the next argument of the same group, -1: none */
};

/* Enough for a synopsis of about two lines. */
#define DOC_MAX_ARGS 64

struct doc {
    struct doc_arg args[DOC_MAX_ARGS];
    short used;
    short first;    /* index of the first argument, -1: none */
    short children; /* number of arguments on the top level */
};

/* Parses synopsis. The slices of doc point into it. False if the synopsis is malformed or too long. */
bool doc_parse(const char *synopsis, struct doc *doc) MUST_CHECK;
const char *doc_type_name(enum doc_type type);

#endif
