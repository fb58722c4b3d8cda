#ifndef LINE_REPORT_H
#define LINE_REPORT_H

#include "base/util.h"
#include "tools/records.h"

/*
 * The result of a tool that changes something: sentences for people, which are printed at once, or one JSON object,
 * which is printed at the end. Each function does its part for the form of the output.
 */
struct line_report {
    json_t *object; /* NULL: the report has sentences */
};

void line_report_begin(struct line_report *r, const struct line_form *form);
/* Set a field of the object. */
void line_report_number(struct line_report *r, const char *field, int64_t value);
void line_report_flag(struct line_report *r, const char *field, bool value);
void line_report_text(struct line_report *r, const char *field, const char *text);
/* Makes the field an empty array, which line_report_count() and line_report_rest() fill. */
void line_report_list(struct line_report *r, const char *field);
/* The line "count <tab> name", or the member {"name": name, "count": count} of the array. */
void line_report_count(struct line_report *r, const char *list, int64_t count, const char *name);
/* The member {"name": name, "count": count, "state": state} of the array. */
void line_report_rest(struct line_report *r, const char *list, int64_t count, const char *name,
                      const char *state);
/* Prints a line, whose text is of xasprintf(). Control characters are escaped. Frees the text. */
void line_report_say(const struct line_report *r, char *text);
/* Prints the object, and frees the report. The work is done, so an output that fails is only an error message. */
void line_report_end(struct line_report *r, const char *tool);

#endif
