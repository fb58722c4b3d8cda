/* The reports of the doctor. */
#include "consult.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tooling.h"

static redisReply *doctor_lines(redisContext *c) {
    redisReply *r = redisCommand(c, "DOCTOR LINES");

    if (r == NULL || r->type != REDIS_REPLY_STRING)
        fail_msg("DOCTOR LINES: %s", r == NULL ? c->errstr : r->str);
    return r;
}

/* Tabs become blanks, so that tests can write them. */
static bool line_is(char *line, const char *begin, const char *text) {
    for (char *tab = line; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    return strncmp(line, begin, strlen(begin)) == 0 && strstr(line, text) != NULL;
}

bool finds(redisContext *c, const char *begin, const char *text) {
    redisReply *r = doctor_lines(c);
    bool found = false;
    char *rest = NULL;

    for (char *line = strtok_r(r->str, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        found = found || line_is(line, begin, text);
    freeReplyObject(r);
    return found;
}

void show_findings(redisContext *c) {
    redisReply *r = doctor_lines(c);

    fprintf(stderr, "%s\n", r->str);
    freeReplyObject(r);
}

int complaints(redisContext *c) {
    redisReply *r = doctor_lines(c);
    int count = 0;
    char *rest = NULL;

    for (char *line = strtok_r(r->str, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "note\t", 5) == 0)
            continue;
        count++;
    }
    freeReplyObject(r);
    return count;
}

int doctor_line_run(const char **out, ...) {
    va_list words;
    int status;

    va_start(words, out);
    status = tooling_vrun(out, "doctor", words);
    va_end(words);
    return status;
}

int health_line_run(const char **out, ...) {
    va_list words;
    int status;

    va_start(words, out);
    status = tooling_vrun(out, "health", words);
    va_end(words);
    return status;
}
