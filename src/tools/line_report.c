/* The result of a tool: sentences for people, or one JSON object. */
#include "tools/line_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_bytes.h"
#include "tools/terminal_text.h"

void line_report_begin(struct line_report *r, const struct line_form *form) {
    r->object = line_form_is_json(form) ? json_object() : NULL;
}

static void set_field(struct line_report *r, const char *field, json_t *value) {
    json_object_set_new(r->object, field, value);
}

void line_report_number(struct line_report *r, const char *field, int64_t value) {
    if (r->object != NULL)
        set_field(r, field, json_integer(value));
}

void line_report_flag(struct line_report *r, const char *field, bool value) {
    if (r->object != NULL)
        set_field(r, field, json_boolean(value));
}

void line_report_text(struct line_report *r, const char *field, const char *text) {
    if (r->object != NULL)
        set_field(r, field, json_of_bytes(slice_str(text)));
}

void line_report_list(struct line_report *r, const char *field) {
    if (r->object != NULL)
        set_field(r, field, json_array());
}

/* Returns the member, so that the caller can add fields. */
static json_t *add_member(struct line_report *r, const char *list, int64_t count, const char *name) {
    json_t *member = json_object();

    json_object_set_new(member, "name", json_of_bytes(slice_str(name)));
    json_object_set_new(member, "count", json_integer(count));
    json_array_append_new(json_object_get(r->object, list), member);
    return member;
}

void line_report_count(struct line_report *r, const char *list, int64_t count, const char *name) {
    if (r->object != NULL) {
        add_member(r, list, count, name);
        return;
    }
    printf("%lld\t", (long long)count);
    terminal_print(stdout, slice_str(name));
    putchar('\n');
}

void line_report_rest(struct line_report *r, const char *list, int64_t count, const char *name,
                      const char *state) {
    if (r->object != NULL)
        json_object_set_new(add_member(r, list, count, name), "state", json_string(state));
}

void line_report_say(const struct line_report *r, char *text) {
    if (r->object == NULL) {
        terminal_print(stdout, slice_str(text));
        putchar('\n');
    }
    free(text);
}

void line_report_end(struct line_report *r, const char *tool) {
    struct buf out = { 0 };

    if (r->object != NULL)
        records_append_json(r->object, &out);
    if (buf_len(&out) > 0)
        buf_append_str(&out, "\n");
    if (!records_write(&out))
        line_refuse(tool, "cannot write the output", "");
    buf_free(&out);
    r->object = NULL;
}
