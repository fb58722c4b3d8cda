/* The journal of a run: written line by line, read again by --verify. */
#include "journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "options.h"

static FILE *file;

#define HEADER                                                                                          \
    "load-journal 1 run %lld target %s queue %s queues %lld body %lld retry %lld consumers %lld count " \
    "%lld\n"
#define HEADER_SCAN                                                                                          \
    "load-journal 1 run %lld target %31s queue %127s queues %lld body %lld retry %lld consumers %lld count " \
    "%lld"

static FILE *open_or_die(const char *path, const char *mode) {
    FILE *f = fopen(path, mode);
    if (!f)
        die("cannot open the journal %s: %s", path, strerror(errno));
    return f;
}

void journal_create(const char *path) {
    file = open_or_die(path, "w");
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    fprintf(file, HEADER, (long long)options.run, options.target, options.queue, (long long)options.queues,
            (long long)options.body, (long long)options.retry, (long long)options.consumers,
            (long long)options.count);
    journal_flush();
}

void journal_continue(const char *path) {
    file = open_or_die(path, "a");
    setvbuf(file, NULL, _IOFBF, 1 << 20);
}

void journal_load_options(const char *path) {
    static char target[32], queue[128];
    char line[512];
    long long run, queues, body, retry, consumers, count;
    FILE *f = open_or_die(path, "r");
    if (!fgets(line, sizeof(line), f) ||
        sscanf(line, HEADER_SCAN, &run, target, queue, &queues, &body, &retry, &consumers, &count) != 8)
        die("%s is not a journal of this program", path);
    fclose(f);
    options.run = run;
    options.target = target;
    options.queue = queue;
    options.queues = queues;
    options.body = body;
    options.retry = retry;
    options.consumers = consumers > 0 ? consumers : 1;
    options.count = count;
    options.drain = true;
}

static bool enter(char kind, uint32_t producer, uint64_t seq, int64_t ms) {
    if (kind == JOURNAL_ADDED)
        ledger_added(producer, seq);
    else if (kind == JOURNAL_UNKNOWN)
        ledger_unknown(producer, seq);
    else if (kind == JOURNAL_DELIVERED)
        (void)ledger_delivered(producer, seq, ms);
    else if (kind == JOURNAL_ACKED)
        ledger_acked(producer, seq);
    else
        return false;
    return true;
}

static void enter_line(const char *path, const char *line) {
    char kind;
    unsigned producer;
    unsigned long long seq;
    long long ms;
    if (sscanf(line, "%c %u %llu %lld", &kind, &producer, &seq, &ms) != 4 || !enter(kind, producer, seq, ms))
        die("%s holds a line that cannot be understood: %s", path, line);
}

/* The death of the writer can leave a last line without its end. The function cuts it off, so that the journal can be
 * continued. */
void journal_load_events(const char *path) {
    char line[512];
    off_t whole = 0;
    FILE *f = open_or_die(path, "r");
    while (fgets(line, sizeof(line), f) && strchr(line, '\n')) {
        if (whole > 0)
            enter_line(path, line);
        whole += (off_t)strlen(line);
    }
    fclose(f);
    if (truncate(path, whole) != 0)
        die("cannot continue the journal %s: %s", path, strerror(errno));
    ledger_drop_all();
}

static char *put_number(char *p, uint64_t n) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    *p++ = ' ';
    while (count > 0)
        *p++ = digits[--count];
    return p;
}

void journal_write(enum journal_kind kind, uint32_t producer, uint64_t seq, int64_t now) {
    char line[80];
    if (!file)
        return;
    line[0] = (char)kind;
    char *p = put_number(line + 1, producer);
    p = put_number(p, seq);
    p = put_number(p, (uint64_t)(now / NS_PER_MS));
    *p++ = '\n';
    if (fwrite_unlocked(line, 1, (size_t)(p - line), file) != (size_t)(p - line))
        die("cannot write the journal: %s", strerror(errno));
}

void journal_flush(void) {
    if (file && fflush(file) != 0)
        die("cannot write the journal: %s", strerror(errno));
}
