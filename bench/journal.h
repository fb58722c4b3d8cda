#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include "common.h"

/* A text file with the confirmed events, so that another process can finish a run that ended with the death of the
 * server. The first line holds the important options. Each further line is an event: kind, producer, sequence number,
 * milliseconds on the clock of now_ns(). */
enum journal_kind {
    JOURNAL_ADDED = 'A',
    JOURNAL_UNKNOWN = 'U',
    JOURNAL_DELIVERED = 'D',
    JOURNAL_ACKED = 'K',
};

/* Begins a new journal for options. */
void journal_create(const char *path);
/* Continues a journal that journal_load() has read. */
void journal_continue(const char *path);
/* Sets options as they were in the journal's run, save where the server is. */
void journal_load_options(const char *path);
/* Enters the events of the journal into the ledger. */
void journal_load_events(const char *path);

/* Does nothing without a journal. Reaches the file by journal_flush() or at exit. */
void journal_write(enum journal_kind kind, uint32_t producer, uint64_t seq, int64_t now);
void journal_flush(void);

#endif
