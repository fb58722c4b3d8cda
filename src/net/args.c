/* Options of commands: each command has a table, and all share this parser. */
#include "net/args.h"

#include <string.h>

#include "base/clock.h"
#include "base/glob.h"
#include "config/config.h"

static const struct arg_option *args_find(const struct arg_spec *spec, struct slice word) {
    for (size_t i = 0; i < spec->count; i++)
        if (slice_is(word, spec->options[i].word))
            return &spec->options[i];
    return NULL;
}

static bool args_parse_int(const struct arg_option *o, struct slice word, int64_t *value) {
    return o->kind == ARG_REDIS_INT ? parse_int_strict(word, value) : parse_int_disque(word, value);
}

/* Writes the value of o to field. False if it is out of range. */
static bool args_read_value(const struct arg_option *o, struct slice word, char *field) {
    int64_t value;

    if (o->kind == ARG_BYTES) {
        memcpy(field, &word, sizeof word);
        return (int64_t)word.len >= o->min && (int64_t)word.len <= o->max;
    }
    if (!args_parse_int(o, word, &value) || value < o->min || value > o->max)
        return false;
    memcpy(field, &value, sizeof value);
    return true;
}

bool args_is_option(const struct arg_spec *spec, struct slice word) {
    /* No option begins with a digit, and most words do. */
    return word.len > 0 && word.ptr[0] > '9' && args_find(spec, word) != NULL;
}

/* Adds the words after argv[at]. False if it has replied an error. */
static bool args_take_pair(struct req *r, int at, const struct arg_option *o, char *field) {
    struct arg_pairs *pairs = (void *)field;
    struct slice *pair;
    int words = o->kind == ARG_PAIRS ? 2 : 1;

    if (at + words >= r->argc) {
        usage_no_value(r, at);
        return false;
    }
    if ((int64_t)pairs->count == o->max) {
        usage_invalid(r, at + 1, o->error);
        return false;
    }
    if (pairs->words == NULL)
        pairs->words = req_alloc(r, 2 * (size_t)o->max * sizeof *pairs->words);
    pair = &pairs->words[2 * pairs->count++];
    pair[0] = r->argv[at + 1];
    pair[1] = words == 2 ? r->argv[at + 2] : (struct slice){ NULL, 0 };
    return true;
}

/* Takes the words between the option at *at and the next option. False if it has replied an error. */
static bool args_take_words(struct req *r, int *at, const struct arg_spec *spec, const struct arg_option *o,
                            struct arg_words *words) {
    int first = *at + 1;

    for ((*at)++; *at < r->argc && !args_is_option(spec, r->argv[*at]); (*at)++)
        continue;
    if (*at == first) {
        usage_no_value(r, first - 1);
        return false;
    }
    if (words->words != NULL || *at - first < o->min || *at - first > o->max) {
        usage_invalid(r, first - 1, o->error);
        return false;
    }
    *words = (struct arg_words){ &r->argv[first], (size_t)(*at - first) };
    return true;
}

/* Takes the option at *at. False if it has replied an error. */
static bool args_take(struct req *r, int *at, const struct arg_spec *spec, const struct arg_option *o,
                      void *out) {
    char *field = (char *)out + o->offset;

    if (o->kind == ARG_FLAG) {
        *(bool *)(void *)field = true;
        (*at)++;
        return true;
    }
    if (o->kind == ARG_PAIRS || o->kind == ARG_FIRSTS) {
        int first = *at;

        *at += o->kind == ARG_PAIRS ? 3 : 2;
        return args_take_pair(r, first, o, field);
    }
    if (o->kind == ARG_WORDS)
        return args_take_words(r, at, spec, o, (struct arg_words *)(void *)field);
    if (*at + 1 >= r->argc) {
        usage_no_value(r, *at);
        return false;
    }
    if (!args_read_value(o, r->argv[*at + 1], field)) {
        usage_invalid(r, *at + 1, o->error);
        return false;
    }
    *at += 2;
    return true;
}

static void unexpected(struct req *r, int at, const struct arg_spec *spec) {
    if (spec->unknown == NULL)
        usage_unexpected(r, at);
    else
        usage_invalid(r, at, spec->unknown);
}

bool args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *out, int *end) {
    int at = from;

    while (at < r->argc && !(spec->stop != NULL && slice_is(r->argv[at], spec->stop))) {
        const struct arg_option *o = args_find(spec, r->argv[at]);

        if (o != NULL) {
            if (!args_take(r, &at, spec, o, out))
                return false;
        } else if (spec->stop != NULL && *spec->stop == '\0') {
            break;
        } else if (spec->other == NULL) {
            unexpected(r, at, spec);
            return false;
        } else if (!spec->other(r, &at, out)) {
            return false;
        }
    }
    *end = at;
    return true;
}

bool args_timeout_or_reply(struct req *r, int at, int64_t *ms) {
    if (!parse_int_disque(r->argv[at], ms)) {
        usage_invalid(r, at, "ERR timeout is not an integer or out of range");
        return false;
    }
    if (*ms < 0) {
        usage_invalid(r, at, "ERR timeout is negative");
        return false;
    }
    return true;
}

bool args_fit_or_reply(struct req *r, const char *what, struct slice text, size_t max) {
    if (text.len <= max)
        return true;
    req_error(r, "LIMIT %s must be at most %zu bytes long", what, max);
    return false;
}

bool args_queue_or_reply(struct req *r, struct slice name) {
    if (name.len > 0)
        return true;
    req_error(r, NAME_EMPTY);
    return false;
}

bool args_queues_or_reply(struct req *r, const struct slice *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!args_queue_or_reply(r, names[i]))
            return false;
    return true;
}

bool args_patterns_or_reply(struct req *r, int from, int max) {
    if (r->argc - from > max) {
        req_error(r, "LIMIT no more than %d patterns at once", max);
        return false;
    }
    for (int i = from; i < r->argc; i++)
        if (!args_fit_or_reply(r, "a pattern", r->argv[i], PATTERN_MAX))
            return false;
    return true;
}

bool args_names_or_reply(struct req *r, int from, int max) {
    if (r->argc - from <= max)
        return true;
    req_error(r, "LIMIT no more than %d names at once", max);
    return false;
}

bool args_integer_or_reply(struct req *r, int at, int64_t *value) {
    if (parse_int_strict(r->argv[at], value))
        return true;
    usage_invalid(r, at, NOT_AN_INTEGER);
    return false;
}

bool args_sources_or_reply(struct req *r, size_t count) {
    if (count <= SOURCES_MAX)
        return true;
    req_error(r, "LIMIT a command takes jobs from at most %d queues", SOURCES_MAX);
    return false;
}

int64_t limited_timeout(int64_t ms) {
    int64_t most = config.getjob_max_block;

    if (most > 0 && (ms == 0 || ms > most))
        return most;
    return ms < INT64_MAX / US_PER_MS / 2 ? ms : 0;
}
