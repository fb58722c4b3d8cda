#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include "common.h"

/*
 * A text file with what the server confirmed, so that a run that ended with
 * the server's death can be finished by another process. The first line holds
 * the options that matter; then a line an event: kind, producer, sequence
 * number, milliseconds on the clock of now_ns().
 */
enum journal_kind {
    JOURNAL_ADDED = 'A',
    JOURNAL_UNKNOWN = 'U',
    JOURNAL_DELIVERED = 'D',
    JOURNAL_ACKED = 'K',
};

/* Begins a new journal for options. */
void journal_create(const char *path);
/* Continues one that journal_load() has read. */
void journal_continue(const char *path);
/* Sets options as they were in the journal's run, save where the server is. */
void journal_load_options(const char *path);
/* Enters what the journal says into the ledger. */
void journal_load_events(const char *path);

/* Does nothing without a journal. Reaches the file by journal_flush() or at exit. */
void journal_write(enum journal_kind kind, uint32_t producer, uint64_t seq, int64_t now);
void journal_flush(void);

#endif
