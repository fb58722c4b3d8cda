/* The result of a run: one list of fields, printed as text, JSON or CSV; and the verdict. */
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "options.h"

enum { MAX_FIELDS = 64, MAX_LOST_SHOWN = 5 };

struct field {
    const char *name;
    const char *text; /* NULL: the number counts */
    double number;
    int decimals;
};

static struct field fields[MAX_FIELDS];
static int field_count;
static uint64_t lost;
static uint64_t lost_excused; /* jobs with RETRY 0 that a broken connection took along */

static int64_t cpu_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

struct mark report_mark(void) {
    return (struct mark){ .time = run.now,
                          .added = ledger.added,
                          .delivered = ledger.delivered,
                          .acked = ledger.acked,
                          .cpu = cpu_ns() };
}

void report_progress(void) {
    static struct mark last;
    struct mark now = report_mark();
    double seconds = (double)(now.time - (last.time ? last.time : run.start)) / 1e9;
    if (seconds <= 0)
        return;
    fprintf(stderr,
            "%7.1f s  add %8.0f/s  deliver %8.0f/s  ack %8.0f/s  open %llu  errors %llu  losses %llu\n",
            (double)(now.time - run.start) / 1e9, (double)(now.added - last.added) / seconds,
            (double)(now.delivered - last.delivered) / seconds, (double)(now.acked - last.acked) / seconds,
            (unsigned long long)ledger.open, (unsigned long long)run.errors, (unsigned long long)run.losses);
    last = now;
}

static void add_number(const char *name, double number, int decimals) {
    fields[field_count++] = (struct field){ .name = name, .number = number, .decimals = decimals };
}

static void add_count(const char *name, uint64_t number) {
    add_number(name, (double)number, 0);
}

static void add_text(const char *name, const char *text) {
    fields[field_count++] = (struct field){ .name = name, .text = text ? text : "" };
}

static double rate(uint64_t count, uint64_t before, int64_t last) {
    double seconds = (double)(last - run.begin.time) / 1e9;
    return count > before && seconds > 0 ? (double)(count - before) / seconds : 0;
}

/* The time of the last event. Waiting for missing jobs does not count. */
static int64_t last_event(void) {
    int64_t last = run.last_add > run.last_delivery ? run.last_add : run.last_delivery;
    return run.last_ack > last ? run.last_ack : last;
}

static void collect_shape(void) {
    add_text("label", options.label);
    add_text("target", run.target->name);
    add_count("producers", (uint64_t)options.producers);
    add_count("consumers", (uint64_t)options.consumers);
    add_count("pipeline", (uint64_t)options.pipeline);
    add_count("count", (uint64_t)options.count);
    add_count("queues", (uint64_t)options.queues);
    add_count("body", (uint64_t)options.body);
    add_count("idle_waiters", (uint64_t)options.idle_waiters);
    add_number("rate", options.rate, 1);
}

static void collect_rates(int64_t cpu) {
    double seconds = (double)(last_event() - run.begin.time) / 1e9;
    uint64_t jobs = ledger.acked - run.begin.acked;
    if (options.consumers == 0)
        jobs = ledger.added - run.begin.added;
    add_number("seconds", seconds > 0 ? seconds : 0, 3);
    add_number("through_per_s", rate(ledger.acked, run.begin.acked, run.last_ack), 1);
    add_number("add_per_s", rate(ledger.added, run.begin.added, run.last_add), 1);
    add_number("deliver_per_s", rate(ledger.delivered, run.begin.delivered, run.last_delivery), 1);
    add_number("load_cpu_percent", seconds > 0 ? (double)cpu / 1e7 / seconds : 0, 1);
    add_number("load_cpu_us_per_job", jobs ? (double)cpu / 1e3 / (double)jobs : 0, 2);
}

static void collect_latency(const char *const names[5], const struct histogram *h) {
    static const double shares[] = { 0.5, 0.95, 0.99 };
    for (size_t i = 0; i < LENGTH(shares); i++)
        add_number(names[i], (double)histogram_percentile(h, shares[i]) / 1e3, 1);
    add_number(names[3], (double)h->max / 1e3, 1);
    add_number(names[4], histogram_mean(h) / 1e3, 1);
}

static void collect_latencies(void) {
    static const char *const add[] = { "add_p50_us", "add_p95_us", "add_p99_us", "add_max_us",
                                       "add_mean_us" };
    static const char *const deliver[] = { "deliver_p50_us", "deliver_p95_us", "deliver_p99_us",
                                           "deliver_max_us", "deliver_mean_us" };
    static const char *const get[] = { "get_p50_us", "get_p95_us", "get_p99_us", "get_max_us",
                                       "get_mean_us" };
    static const char *const ack[] = { "ack_p50_us", "ack_p95_us", "ack_p99_us", "ack_max_us",
                                       "ack_mean_us" };
    collect_latency(add, &run.add);
    collect_latency(deliver, &run.deliver);
    collect_latency(get, &run.get);
    collect_latency(ack, &run.ack);
}

static uint64_t wrong(void) {
    return lost + ledger.doubled + run.damaged;
}

/* Delivered, but without a confirmed ack. */
static uint64_t unacked(void) {
    uint64_t never_delivered = lost + lost_excused;
    return options.fill || ledger.open < never_delivered ? 0 : ledger.open - never_delivered;
}

static void collect_books(void) {
    add_count("sent", run.sent);
    add_count("added", ledger.added);
    add_count("unknown", ledger.unknown);
    add_count("delivered", ledger.delivered);
    add_count("acked", ledger.acked);
    add_count("redelivered", ledger.redelivered);
    add_count("lost", lost);
    add_count("lost_excused", lost_excused);
    add_count("doubled", ledger.doubled);
    add_count("damaged", run.damaged);
    add_count("foreign", run.foreign);
    add_count("unacked", unacked());
    add_count("stale_acks", run.stale_acks);
    add_count("errors", run.errors);
    add_count("connections_lost", run.losses);
    add_count("idle_replies", run.idle_replies);
    add_text("verdict", wrong() > 0 ? "wrong" : run.fatal ? "broken" : "ok");
}

/* JSON escapes quotes by a backslash, CSV by another quote. */
static void print_string(const char *text, bool json) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar(json ? '\\' : '"');
        if (*text == '\\' && json)
            putchar('\\');
        if ((unsigned char)*text >= ' ')
            putchar(*text);
    }
    putchar('"');
}

static void print_value(const struct field *field, bool json) {
    if (field->text)
        print_string(field->text, json);
    else
        printf("%.*f", field->decimals, field->number);
}

static void print_json(void) {
    for (int i = 0; i < field_count; i++) {
        printf("%s\"%s\": ", i ? ", " : "{", fields[i].name);
        print_value(&fields[i], true);
    }
    puts("}");
}

static void print_csv(void) {
    for (int i = 0; i < field_count; i++) {
        if (i)
            putchar(',');
        print_value(&fields[i], false);
    }
    putchar('\n');
}

static double value(const char *name) {
    for (int i = 0; i < field_count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return fields[i].number;
    die("there is no field %s", name);
}

static void print_latency(const char *what, const struct histogram *h) {
    if (h->count == 0)
        return;
    printf("  %-14s %10.0f %10.0f %10.0f %10.0f   us\n", what, (double)histogram_percentile(h, 0.5) / 1e3,
           (double)histogram_percentile(h, 0.95) / 1e3, (double)histogram_percentile(h, 0.99) / 1e3,
           (double)h->max / 1e3);
}

static void print_text(void) {
    printf("%s%s%s: %lld producers x %lld, %lld consumers x %lld, bodies of %lld bytes\n",
           options.label ? options.label : "", options.label ? ", " : "", run.target->name,
           (long long)options.producers, (long long)options.pipeline, (long long)options.consumers,
           (long long)options.count, (long long)options.body);
    printf("  jobs/s         %10.0f through, %.0f added, %.0f delivered; %.2f s\n", value("through_per_s"),
           value("add_per_s"), value("deliver_per_s"), value("seconds"));
    if (run.add.count + run.deliver.count + run.ack.count > 0)
        puts("  latency               p50        p95        p99        max");
    print_latency("add reply", &run.add);
    print_latency("add->delivery", &run.deliver);
    print_latency("get reply", &run.get);
    print_latency("ack reply", &run.ack);
    printf("  load's CPU     %10.0f %% of a core, %.2f us a job\n", value("load_cpu_percent"),
           value("load_cpu_us_per_job"));
    printf("  added %.0f, delivered %.0f, acked %.0f, redelivered %.0f, unknown adds %.0f\n", value("added"),
           value("delivered"), value("acked"), value("redelivered"), value("unknown"));
    printf("  lost %.0f, doubled %.0f, damaged %.0f, foreign %.0f, unacked %.0f, stale acks %.0f\n",
           value("lost"), value("doubled"), value("damaged"), value("foreign"), value("unacked"),
           value("stale_acks"));
    if (run.errors || run.losses)
        printf("  error replies %.0f, connections lost %.0f\n", value("errors"), value("connections_lost"));
    if (options.idle_waiters)
        printf("  idle waiters %lld, their replies %.0f\n", (long long)options.idle_waiters,
               value("idle_replies"));
}

static void show_lost(uint32_t producer, uint64_t seq) {
    static int shown;
    if (shown++ < MAX_LOST_SHOWN)
        fprintf(stderr, "load: lost: producer %u, sequence %llu\n", producer, (unsigned long long)seq);
}

/* A run that only fills, or that broke off, cannot tell which jobs are lost. */
static void count_lost(bool complete) {
    if (options.consumers == 0 || run.fatal)
        return;
    lost = ledger_lost(complete && options.drain && !options.verify, show_lost);
    if (options.retry == 0 && (run.losses > 0 || options.verify)) {
        lost_excused = lost;
        lost = 0;
    }
}

static int verdict(void) {
    if (lost_excused > 0)
        fprintf(stderr, "load: %llu lost with RETRY 0, which allows it when a connection breaks\n",
                (unsigned long long)lost_excused);
    if (wrong() > 0) {
        fprintf(stderr, "load: WRONG: %llu lost, %llu doubled, %llu damaged of %llu jobs\n",
                (unsigned long long)lost, (unsigned long long)ledger.doubled, (unsigned long long)run.damaged,
                (unsigned long long)ledger.added);
        return EXIT_WRONG_JOBS;
    }
    if (run.fatal)
        fprintf(stderr, "load: the run broke off: %s\n", run.fatal);
    return run.fatal ? EXIT_BROKEN : EXIT_CLEAN;
}

static void collect(void) {
    field_count = 0;
    collect_shape();
    collect_rates(cpu_ns() - run.begin.cpu);
    collect_latencies();
    collect_books();
}

int report_result(bool complete) {
    count_lost(complete);
    collect();
    if (options.json)
        print_json();
    else if (options.csv)
        print_csv();
    else
        print_text();
    fflush(stdout);
    return verdict();
}

void report_csv_header(void) {
    collect();
    for (int i = 0; i < field_count; i++)
        printf("%s%s", i ? "," : "", fields[i].name);
    putchar('\n');
}
