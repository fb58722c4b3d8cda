/* Parses a command's synopsis into the argument tree of COMMAND DOCS. */
#include "commands/command_docs.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH 8

/* Arguments that follow each other. */
struct chain {
    short first, last; /* -1: empty */
    short count;
};

/* An open bracket, or the whole synopsis. */
struct frame {
    struct chain items;        /* the current alternative */
    struct chain alternatives; /* before the current alternative */
};

struct parser {
    struct doc *doc;
    struct frame frames[MAX_DEPTH];
    int depth; /* index of the innermost open frame */
    bool failed;
};

/* Names of values that are numbers. All other values are strings. */
static const char *const numbers[] = {
    "count", "seconds", "ms", "ms-timeout", "cursor", "rate", "port", "protover", "index", "n",
};

const char *doc_type_name(enum doc_type type) {
    static const char *const names[] = {
#define X(id, name) name,
        DOC_TYPES(X)
#undef X
    };
    return names[type];
}

static struct frame *innermost(struct parser *p) {
    return &p->frames[p->depth];
}

static struct doc_arg *at(struct parser *p, short place) {
    return &p->doc->args[place];
}

/* The last argument on this level, or NULL. */
static struct doc_arg *previous(struct parser *p) {
    short last = innermost(p)->items.last;

    return last < 0 ? NULL : at(p, last);
}

/* If the table is full, returns the last index again, and parsing fails. */
static short new_arg(struct parser *p, enum doc_type type) {
    short place;

    if (p->doc->used == DOC_MAX_ARGS)
        p->failed = true;
    else
        p->doc->used++;
    place = (short)(p->doc->used - 1);
    *at(p, place) = (struct doc_arg){ .type = type, .first = -1, .next = -1 };
    return place;
}

static void chain_init(struct chain *c) {
    *c = (struct chain){ .first = -1, .last = -1 };
}

static void chain_add(struct parser *p, struct chain *c, short place) {
    if (c->last < 0)
        c->first = place;
    else
        at(p, c->last)->next = place;
    c->last = place;
    c->count++;
}

static void adopt(struct parser *p, short parent, const struct chain *children) {
    at(p, parent)->first = children->first;
    at(p, parent)->children = children->count;
}

/* Turns the chain into one argument. A single argument stays as it is. */
static short as_one(struct parser *p, const struct chain *c) {
    short block;

    if (c->count == 1)
        return c->first;
    block = new_arg(p, DOC_BLOCK);
    adopt(p, block, c);
    return block;
}

static void end_alternative(struct parser *p, struct frame *f) {
    if (f->items.count == 0) {
        p->failed = true;
        return;
    }
    chain_add(p, &f->alternatives, as_one(p, &f->items));
    chain_init(&f->items);
}

static bool is_value(const struct doc_arg *a) {
    return a->type == DOC_STRING || a->type == DOC_INTEGER;
}

static bool same_args(struct parser *p, short a, short b) {
    return a >= 0 && b >= 0 && at(p, a)->type == at(p, b)->type &&
           slice_equal(at(p, a)->name, at(p, b)->name) && slice_equal(at(p, a)->token, at(p, b)->token);
}

/* Does the open bracket repeat an option with its literal? It then has all words of the enclosing bracket, and `...`:
 * [HEADER name text [HEADER name text ...]]. */
static bool repeats_option(struct parser *p) {
    const struct frame *f = innermost(p), *outer = f - 1;
    short a = f->items.first, b;

    if (p->depth == 0 || f->alternatives.count > 0 || f->items.count != outer->items.count)
        return false;
    b = outer->items.first;
    if (!is_value(at(p, a)) || at(p, a)->token.len == 0 || !at(p, f->items.last)->multiple)
        return false;
    for (; same_args(p, a, b); a = at(p, a)->next)
        b = at(p, b)->next;
    return a < 0 && b < 0;
}

/* Several words of the option become a block, which has the literal, as in Redis. */
static void fold_option(struct parser *p) {
    struct chain *items = &innermost(p)->items;
    short first = items->first, place = as_one(p, items);

    if (place != first) {
        at(p, place)->token = at(p, first)->token;
        at(p, first)->token = SLICE("");
    }
    at(p, place)->multiple = at(p, place)->repeats_token = true;
    chain_init(items);
    chain_add(p, items, place);
}

/* Turns the content of the frame into one argument. */
static short frame_result(struct parser *p, struct frame *f) {
    short oneof;

    if (f->alternatives.count == 0)
        return as_one(p, &f->items);
    end_alternative(p, f);
    oneof = new_arg(p, DOC_ONEOF);
    adopt(p, oneof, &f->alternatives);
    return oneof;
}

static void open_frame(struct parser *p) {
    if (p->depth + 1 == MAX_DEPTH) {
        p->failed = true;
        return;
    }
    p->depth++;
    chain_init(&innermost(p)->items);
    chain_init(&innermost(p)->alternatives);
}

/* In "id [id ...]" the bracket means only that the value may be repeated. */
static bool repeats_previous(struct parser *p, const struct doc_arg *a) {
    const struct doc_arg *before = previous(p);

    return before != NULL && is_value(before) && is_value(a) && a->multiple && a->token.len == 0 &&
           slice_equal(a->name, before->name);
}

static void close_frame(struct parser *p) {
    struct frame *f = innermost(p);
    short result;

    if (p->depth == 0 || f->items.count == 0) {
        p->failed = true;
        return;
    }
    if (repeats_option(p)) {
        p->depth--;
        fold_option(p);
        return;
    }
    result = frame_result(p, f);
    p->depth--;
    if (repeats_previous(p, at(p, result))) {
        previous(p)->multiple = true;
        return;
    }
    at(p, result)->optional = true;
    chain_add(p, &innermost(p)->items, result);
}

static void mark_multiple(struct parser *p) {
    if (previous(p) == NULL)
        p->failed = true;
    else
        previous(p)->multiple = true;
}

static bool command_docs_is_literal(struct slice word) {
    bool upper = false;

    for (size_t i = 0; i < word.len; i++) {
        if (islower((unsigned char)word.ptr[i]))
            return false;
        upper = upper || isupper((unsigned char)word.ptr[i]);
    }
    return upper;
}

static enum doc_type value_type(struct slice name) {
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        if (slice_is(name, numbers[i]))
            return DOC_INTEGER;
    }
    return DOC_STRING;
}

/* The literal before the value, if the value belongs to it, or a new argument. */
static struct doc_arg *value_place(struct parser *p, enum doc_type type) {
    struct doc_arg *before = previous(p);

    if (before == NULL || before->type != DOC_PURE_TOKEN || before->optional || before->multiple) {
        chain_add(p, &innermost(p)->items, new_arg(p, type));
        return previous(p);
    }
    before->type = type;
    return before;
}

static short new_literal(struct parser *p, struct slice word) {
    short place = new_arg(p, DOC_PURE_TOKEN);

    at(p, place)->token = word;
    return place;
}

/* "yes|no": the parts are literals in any case. */
static void add_choice(struct parser *p, struct slice word) {
    struct doc_arg *choice = value_place(p, DOC_ONEOF);
    struct chain parts;

    chain_init(&parts);
    for (;;) {
        const char *bar = memchr(word.ptr, '|', word.len);
        size_t len = bar == NULL ? word.len : (size_t)(bar - word.ptr);

        chain_add(p, &parts, new_literal(p, (struct slice){ word.ptr, len }));
        if (bar == NULL)
            break;
        word = (struct slice){ bar + 1, word.len - len - 1 };
    }
    adopt(p, (short)(choice - p->doc->args), &parts);
}

static void add_word(struct parser *p, struct slice word) {
    if (slice_equal(word, SLICE("|")))
        end_alternative(p, innermost(p));
    else if (slice_equal(word, SLICE("...")))
        mark_multiple(p);
    else if (memchr(word.ptr, '|', word.len) != NULL)
        add_choice(p, word);
    else if (command_docs_is_literal(word))
        chain_add(p, &innermost(p)->items, new_literal(p, word));
    else
        value_place(p, value_type(word))->name = word;
}

/* Parses the next token of text. Returns the text after it. */
static const char *command_docs_step(struct parser *p, const char *text) {
    size_t len;

    if (*text == ' ')
        return text + 1;
    if (*text == '[') {
        open_frame(p);
        return text + 1;
    }
    if (*text == ']') {
        close_frame(p);
        return text + 1;
    }
    len = strcspn(text, " []");
    add_word(p, (struct slice){ text, len });
    return text + len;
}

bool doc_parse(const char *synopsis, struct doc *doc) {
    struct parser p = { .doc = doc };
    struct chain top;

    doc->used = 0;
    chain_init(&p.frames[0].items);
    chain_init(&p.frames[0].alternatives);
    while (*synopsis != '\0' && !p.failed)
        synopsis = command_docs_step(&p, synopsis);
    if (p.failed || p.depth != 0)
        return false;
    top = p.frames[0].items;
    if (p.frames[0].alternatives.count > 0) {
        chain_init(&top);
        chain_add(&p, &top, frame_result(&p, &p.frames[0]));
    }
    doc->first = top.first;
    doc->children = top.count;
    return !p.failed;
}
