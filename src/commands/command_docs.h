#ifndef COMMAND_DOCS_H
#define COMMAND_DOCS_H

#include <stdbool.h>
#include "base/util.h"

/*
 * The arguments of a command, read from its synopsis in commands.def:
 *
 *     word            a value              WORD            a literal
 *     WORD word       a value behind its literal
 *     [ ... ]         may be left out      a | b, A|B      one of them
 *     x ..., x [x ...]  once or more
 *
 * The result is a tree in the shape of Redis' COMMAND DOCS, for hints in redis-cli.
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
    struct slice name;  /* of values: as written; empty for groups */
    struct slice token; /* the literal itself, or the one before a value; empty: none */
    bool optional;
    bool multiple;
    short children; /* how many */
    short first;    /* place of the first child, -1: none */
    short next;     /* place of the next one of the same group, -1: none */
};

/* Enough for a synopsis of about two lines. */
#define DOC_MAX_ARGS 64

struct doc {
    struct doc_arg args[DOC_MAX_ARGS];
    short used;
    short first;    /* place of the first argument, -1: none */
    short children; /* arguments on the top level */
};

/* The slices point into synopsis. False when it is not well formed or too long. */
bool doc_parse(const char *synopsis, struct doc *doc) MUST_CHECK;
const char *doc_type_name(enum doc_type type);

#endif
