/* Checks the shape of a reply before the reply is used. */
#include "tools/redis_reply.h"

#include <string.h>

/* The end of an item: behind its letter or its closing bracket, before ? or *. */
static const char *item_end(const char *shape) {
    int depth = 0;

    do {
        depth += *shape == '[' || *shape == '(';
        depth -= *shape == ']' || *shape == ')';
        shape++;
    } while (depth > 0);
    return shape;
}

static bool fits_all(const char *shape, const char *end, redisReply *const *elements, size_t count);

static bool fits_item(const char *shape, const redisReply *r) {
    if (r == NULL)
        return false;
    switch (*shape) {
    case 's':
        return (r->type == REDIS_REPLY_STRING || r->type == REDIS_REPLY_STATUS) && r->str != NULL;
    case 'i':
        return r->type == REDIS_REPLY_INTEGER;
    case 'n':
        return r->type == REDIS_REPLY_NIL;
    case '[':
        return r->type == REDIS_REPLY_ARRAY &&
               fits_all(shape + 1, item_end(shape) - 1, r->element, r->elements);
    default:
        return *shape == 'a';
    }
}

/* The number of elements in a group such as (sa); 1 for any other item. */
static size_t width_of(const char *item) {
    size_t width = 0;

    if (*item != '(')
        return 1;
    for (const char *at = item + 1; *at != ')'; at = item_end(at))
        width++;
    return width;
}

static bool fits_group(const char *item, redisReply *const *elements) {
    if (*item != '(')
        return fits_item(item, elements[0]);
    for (const char *at = item + 1; *at != ')'; at = item_end(at)) {
        if (!fits_item(at, *elements++))
            return false;
    }
    return true;
}

static bool fits_repeated(const char *item, redisReply *const *elements, size_t count) {
    size_t width = width_of(item);

    for (size_t i = 0; i < count; i += width) {
        if (count - i < width || !fits_group(item, elements + i))
            return false;
    }
    return true;
}

static bool fits_optional(const char *item, const redisReply *r) {
    return (*item_end(item) == '?' && r != NULL && r->type == REDIS_REPLY_NIL) || fits_item(item, r);
}

static bool fits_all(const char *shape, const char *end, redisReply *const *elements, size_t count) {
    for (const char *next; shape < end; shape = next) {
        next = item_end(shape);
        if (*next == '*')
            return fits_repeated(shape, elements, count);
        if (count == 0 || !fits_optional(shape, *elements))
            return false;
        next += *next == '?';
        elements++;
        count--;
    }
    return count == 0;
}

bool redis_reply_fits(const redisReply *r, const char *shape) {
    return fits_optional(shape, r);
}

const redisReply *redis_reply_field(const redisReply *names_and_values, const char *name) {
    for (size_t i = 0; i + 1 < names_and_values->elements; i += 2) {
        const redisReply *here = names_and_values->element[i];

        if (fits_item("s", here) && strcmp(here->str, name) == 0)
            return names_and_values->element[i + 1];
    }
    return NULL;
}

const char *redis_reply_text(const redisReply *names_and_values, const char *name) {
    const redisReply *value = redis_reply_field(names_and_values, name);

    return value != NULL && fits_item("s", value) ? value->str : NULL;
}
