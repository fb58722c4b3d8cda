/* The command line: one table of options with defaults, bounds and help. */
#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stamp.h"

struct options options = {
    .target = "disque",
    .host = "127.0.0.1",
    .queue = "load",
    .idle_queue = "idle-%d",
    .producers = 1,
    .consumers = 1,
    .pipeline = 1,
    .count = 1,
    .body = 100,
    .queues = 1,
    .retry = -1,
    .quiet = -1,
};

enum kind { KIND_FLAG, KIND_INT, KIND_REAL, KIND_TEXT };

struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    double min;
    double max;
    const char *help;
};

#define AT(field) offsetof(struct options, field)

static const struct row rows[] = {
    { "target", KIND_TEXT, AT(target), 0, 0, "disque, redis-list, redis-stream or beanstalkd" },
    { "host", KIND_TEXT, AT(host), 0, 0, "server's address (127.0.0.1)" },
    { "port", KIND_INT, AT(port), 1, 65535, "server's port (the target's usual one)" },
    { "unix", KIND_TEXT, AT(unix_path), 0, 0, "server's unix socket, instead of host and port" },
    { "auth", KIND_TEXT, AT(auth), 0, 0, "password, sent as AUTH" },
    { "tls", KIND_FLAG, AT(tls), 0, 0, "use TLS, without a check of the server's certificate" },
    { "producers", KIND_INT, AT(producers), 0, 65535, "connections that add jobs (1)" },
    { "consumers", KIND_INT, AT(consumers), 0, 65535, "connections that get and acknowledge jobs (1)" },
    { "pipeline", KIND_INT, AT(pipeline), 1, 100000, "adds a producer keeps in flight (1)" },
    { "count", KIND_INT, AT(count), 1, 10000, "jobs a consumer asks for, and acknowledges, at once (1)" },
    { "overlap", KIND_FLAG, AT(overlap), 0, 0, "consumers send the next get together with the ack" },
    { "jobs", KIND_INT, AT(jobs), 1, 4e9, "stop after so many jobs" },
    { "seconds", KIND_REAL, AT(seconds), 0.01, 1e6, "stop adding after so long (5, if --jobs is not given)" },
    { "warmup", KIND_REAL, AT(warmup), 0, 1e5, "seconds at the start that are not measured (0)" },
    { "body", KIND_INT, AT(body), STAMP_SIZE, 64 << 20, "bytes in a job (100)" },
    { "queue", KIND_TEXT, AT(queue), 0, 0, "name of the queue; with --queues a number is appended (load)" },
    { "queues", KIND_INT, AT(queues), 1, 1000000, "number of queues (1)" },
    { "retry", KIND_INT, AT(retry), 0, 1 << 30, "RETRY seconds sent with a job (none)" },
    { "delay", KIND_INT, AT(delay), 1, 1 << 30,
      "DELAY seconds sent with a job (none; disque only, with --fill)" },
    { "rate", KIND_REAL, AT(rate), 0.001, 1e8, "add so many jobs a second, on a fixed schedule" },
    { "window", KIND_INT, AT(window), 1, 1 << 30,
      "producers wait while so many jobs are not yet acknowledged" },
    { "fill", KIND_FLAG, AT(fill), 0, 0, "only add" },
    { "drain", KIND_FLAG, AT(drain), 0, 0, "only get and acknowledge" },
    { "quiet", KIND_REAL, AT(quiet), 0.1, 1e6, "seconds without a delivery after which jobs count as lost" },
    { "linger", KIND_REAL, AT(linger), 0, 1e6, "seconds to keep waiting for doubled jobs at the end (0)" },
    { "idle-waiters", KIND_INT, AT(idle_waiters), 0, 1000000,
      "further connections that wait for jobs that never come" },
    { "idle-queue", KIND_TEXT, AT(idle_queue), 0, 0,
      "their queue, %d being the connection's number (idle-%d)" },
    { "journal", KIND_TEXT, AT(journal), 0, 0,
      "write every acknowledged add, delivery and ack to this file" },
    { "verify", KIND_TEXT, AT(verify), 0, 0,
      "finish the run of this journal: drain, report lost and doubled" },
    { "reconnect", KIND_FLAG, AT(reconnect), 0, 0, "keep trying when the server goes away" },
    { "run", KIND_INT, AT(run), 1, 9e15, "number of the run in the bodies; others' jobs are foreign" },
    { "label", KIND_TEXT, AT(label), 0, 0, "a name for the result" },
    { "json", KIND_FLAG, AT(json), 0, 0, "print the result as one line of JSON" },
    { "csv", KIND_FLAG, AT(csv), 0, 0, "print the result as one line of CSV" },
    { "csv-header", KIND_FLAG, AT(csv_header), 0, 0, "print the line of names that belongs to --csv" },
    { "progress", KIND_FLAG, AT(progress), 0, 0, "a line a second on stderr" },
};

static void help(void) {
    puts("bench/load [--option value]...\n"
         "Adds, gets and acknowledges jobs, measures it, and counts lost and doubled jobs.\n"
         "Exit status: 0 all right, 1 jobs lost, doubled or damaged, 2 the run itself failed.\n");
    for (size_t i = 0; i < LENGTH(rows); i++)
        printf("  --%-13s %s\n", rows[i].name, rows[i].help);
    exit(EXIT_CLEAN);
}

static const struct row *find(const char *name, size_t len) {
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return &rows[i];
    die("unknown option --%.*s; --help lists them", (int)len, name);
}

static double number(const struct row *row, const char *text) {
    char *end;
    double value = strtod(text, &end);
    bool whole = row->kind != KIND_INT || value == (double)(int64_t)value;
    if (end == text || *end || !(value >= row->min) || !(value <= row->max) || !whole)
        die("--%s takes a%s number from %.12g to %.12g, not \"%s\"", row->name,
            row->kind == KIND_INT ? " whole" : "", row->min, row->max, text);
    return value;
}

static void set(const struct row *row, const char *text) {
    char *field = (char *)&options + row->offset;
    if (row->kind == KIND_TEXT)
        *(const char **)(void *)field = text;
    else if (row->kind == KIND_INT)
        *(int64_t *)(void *)field = (int64_t)number(row, text);
    else if (row->kind == KIND_REAL)
        *(double *)(void *)field = number(row, text);
    else
        *(bool *)(void *)field = true;
}

/* Parses the option at argv[i], as "--name value" or "--name=value". Returns the index of the next one. */
static int parse_one(int argc, char **argv, int i) {
    const char *word = argv[i];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        help();
    if (strncmp(word, "--", 2) != 0)
        die("\"%s\" is not an option; --help lists them", word);
    size_t len = strcspn(word + 2, "=");
    const struct row *row = find(word + 2, len);
    bool joined = word[2 + len] == '=';
    if (row->kind == KIND_FLAG) {
        if (joined)
            die("--%s takes no value", row->name);
        set(row, NULL);
        return i + 1;
    }
    if (!joined && i + 1 >= argc)
        die("--%s needs a value", row->name);
    set(row, joined ? word + 3 + len : argv[i + 1]);
    return i + (joined ? 1 : 2);
}

void options_parse(int argc, char **argv) {
    for (int i = 1; i < argc;)
        i = parse_one(argc, argv, i);
}

/* Names go into journals and text protocols as they are. */
static void check_name(const char *option, const char *name) {
    if (!*name || strlen(name) > 100)
        die("--%s takes a name of 1 to 100 bytes", option);
    for (; *name; name++)
        if (!isgraph((unsigned char)*name))
            die("--%s takes a name without blanks", option);
}

static void check_together(void) {
    if (options.fill && options.drain)
        die("--fill and --drain exclude each other");
    if (options.verify && (options.fill || options.journal))
        die("--verify excludes --fill and --journal; it appends to the journal it reads");
    if (options.rate > 0 && options.drain)
        die("--rate needs producers");
    if (options.producers == 0 && options.consumers == 0 && options.idle_waiters == 0)
        die("nothing to do: no producers, no consumers, no idle waiters");
    if (options.delay > 0 && (!options.fill || strcmp(options.target, "disque") != 0))
        die("--delay needs --fill and the target disque");
    if (options.retry > 0 && options.quiet >= 0 && options.quiet < (double)options.retry)
        die("--quiet must be longer than --retry, or jobs on their way back count as lost");
}

/* Longer than a lease, so that a job that is on its way back is not called lost. */
static double default_quiet(void) {
    if (options.retry > 0)
        return (double)options.retry + 3;
    return options.drain ? 2 : 5;
}

static int64_t random_run(void) {
    uint64_t mix = (uint64_t)now_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid() << 32;
    return (int64_t)(mix >> 12) + 1;
}

void options_settle(void) {
    check_name("queue", options.queue);
    check_name("idle-queue", options.idle_queue);
    check_together();
    if (options.drain)
        options.producers = 0;
    if (options.fill)
        options.consumers = 0;
    if (options.quiet < 0)
        options.quiet = default_quiet();
    if (options.seconds == 0 && options.jobs == 0 && !options.drain)
        options.seconds = 5;
    if (options.run == 0 && !options.drain)
        options.run = random_run();
}
