/* Lines of the log as JSON objects. Uses no free memory. */
#include "base/log_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The most bytes of a subject and of an address. */
#define SUBJECT_MAX 64

struct json_line {
    char *out;
    size_t len;
    size_t room; /* without the bytes that complete the object */
};

/* False if the text does not fit; nothing is written then. */
static bool json_line_put(struct json_line *l, const char *text, size_t len) {
    if (len > l->room - l->len)
        return false;
    memcpy(l->out + l->len, text, len);
    l->len += len;
    return true;
}

static bool json_line_put_str(struct json_line *l, const char *text) {
    return json_line_put(l, text, strlen(text));
}

/* Appends the character at s[at], and sets *bytes to its length. */
static bool json_line_put_character(struct json_line *l, struct slice s, size_t at, size_t *bytes) {
    unsigned char byte = (unsigned char)s.ptr[at];
    char escape[8];

    *bytes = utf8_character_len(s, at);
    if (*bytes == 0) {
        *bytes = 1;
        return json_line_put_str(l, "\\ufffd");
    }
    if (byte == '"' || byte == '\\')
        return json_line_put(l, (char[]){ '\\', (char)byte }, 2);
    if (byte >= ' ' && byte != 0x7f)
        return json_line_put(l, s.ptr + at, *bytes);
    snprintf(escape, sizeof escape, "\\u%04x", byte);
    return json_line_put_str(l, escape);
}

/* A text that does not fit is cut after a character. */
static void json_line_put_text(struct json_line *l, struct slice s, size_t max) {
    size_t bytes;

    if (s.len > max)
        s.len = max;
    for (size_t at = 0; at < s.len && json_line_put_character(l, s, at, &bytes); at += bytes)
        continue;
}

static void json_line_put_pair(struct json_line *l, const char *name, struct slice value) {
    if (!json_line_put_str(l, name))
        return;
    json_line_put_text(l, value, SUBJECT_MAX);
    json_line_put_str(l, "\"");
}

/* "job ID", with or without a trace behind it, becomes two or three fields. */
static void json_line_put_job(struct json_line *l, const char *id) {
    size_t len = strcspn(id, " ");

    json_line_put_str(l, ",\"subject\":\"job\"");
    json_line_put_pair(l, ",\"job\":\"", (struct slice){ id, len });
    if (id[len] != '\0')
        json_line_put_pair(l, ",\"traceparent\":\"", slice_str(id + len + 1));
}

/* "client 12 127.0.0.1:4711" becomes three fields. */
static void json_line_put_subject(struct json_line *l, const char *subject) {
    uint64_t client;
    int digits = 0;
    char number[32];

    if (strncmp(subject, "job ", 4) == 0) {
        json_line_put_job(l, subject + 4);
        return;
    }
    if (sscanf(subject, "client %" SCNu64 " %n", &client, &digits) != 1 || digits == 0) {
        json_line_put_pair(l, ",\"subject\":\"", slice_str(subject));
        return;
    }
    snprintf(number, sizeof number, "%" PRIu64, client);
    json_line_put_str(l, ",\"subject\":\"client\",\"client\":");
    json_line_put_str(l, number);
    if (subject[digits] != '\0')
        json_line_put_pair(l, ",\"address\":\"", slice_str(subject + digits));
}

static void json_line_put_time(struct json_line *l, int64_t unix_ms) {
    time_t seconds = (time_t)(unix_ms / 1000);
    char date[32], text[64];
    struct tm utc;

    gmtime_r(&seconds, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "{\"time\":\"%s.%03dZ\"", date, (int)(unix_ms % 1000));
    json_line_put_str(l, text);
}

size_t log_json(char *out, size_t room, const struct log_record *r) {
    struct json_line l = { out, 0, room - sizeof "\"}" };
    char pid[32];

    json_line_put_time(&l, r->unix_ms);
    json_line_put_pair(&l, ",\"level\":\"", slice_str(r->level));
    snprintf(pid, sizeof pid, ",\"pid\":%d", r->pid);
    json_line_put_str(&l, pid);
    if (r->node[0] != '\0')
        json_line_put_pair(&l, ",\"node\":\"", slice_str(r->node));
    json_line_put_subject(&l, r->subject);
    json_line_put_str(&l, ",\"message\":\"");
    json_line_put_text(&l, r->message, r->message.len);
    memcpy(out + l.len, "\"}", sizeof "\"}");
    return l.len + 2;
}
