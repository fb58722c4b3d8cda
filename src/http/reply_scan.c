/* Finds the ends of replies of RESP in a stream of bytes. */
#include "http/reply_scan.h"

#include <string.h>

/* The limit of an announced number of values. No reply within GATEWAY_REPLY_MAX has more. */
#define VALUES_MAX ((int64_t)64 * 1024 * 1024)

static bool is_bulk(char type) {
    return type == '$' || type == '=' || type == '!';
}

static bool is_group(char type) {
    return type == '*' || type == '%' || type == '~' || type == '>';
}

static bool is_line(char type) {
    return type != '\0' && strchr("+-:_#,(", type) != NULL;
}

bool reply_head_read(struct slice bytes, struct reply_head *head) {
    const char *end = bytes.len == 0 ? NULL : memchr(bytes.ptr, '\n', bytes.len);

    if (end == NULL || end - bytes.ptr < 2)
        return false;
    head->type = bytes.ptr[0];
    head->line = (struct slice){ bytes.ptr + 1, (size_t)(end - bytes.ptr) - 2 };
    head->number = 0;
    head->size = (size_t)(end - bytes.ptr) + 1;
    if ((is_bulk(head->type) || is_group(head->type) || head->type == ':') &&
        !parse_int_strict(head->line, &head->number))
        head->type = '\0';
    if (is_bulk(head->type) && head->number >= 0 && head->number <= VALUES_MAX)
        head->size += (size_t)head->number + 2;
    return true;
}

size_t reply_head_elements(const struct reply_head *head) {
    if (!is_group(head->type) || head->number <= 0)
        return 0;
    return (size_t)head->number * (head->type == '%' ? 2 : 1);
}

struct slice reply_head_text(struct slice bytes, const struct reply_head *head) {
    size_t kind = head->type == '=' ? 4 : 0; /* "txt:" of a verbatim text */

    if (is_bulk(head->type) && head->number >= (int64_t)kind)
        return (struct slice){ bytes.ptr + head->size - 2 - head->number + kind,
                               (size_t)head->number - kind };
    return is_line(head->type) && head->type != '_' ? head->line : SLICE("");
}

static bool is_sound(const struct reply_head *head) {
    return (is_line(head->type) || is_bulk(head->type) || is_group(head->type)) &&
           (head->type == ':' || (head->number >= -1 && head->number <= VALUES_MAX));
}

enum reply_scan_result reply_scan_next(struct reply_scan *s, struct slice bytes) {
    struct reply_head head;

    if (s->missing == 0)
        s->missing = 1;
    while (s->missing > 0) {
        struct slice rest = { bytes.ptr + s->at, bytes.len - s->at };

        if (!reply_head_read(rest, &head))
            return REPLY_INCOMPLETE;
        if (!is_sound(&head))
            return REPLY_BROKEN;
        if (head.size > rest.len)
            return REPLY_INCOMPLETE;
        s->at += head.size;
        s->values++;
        s->missing += reply_head_elements(&head) - 1;
    }
    return REPLY_COMPLETE;
}
