#ifndef ROW_PLACES_H
#define ROW_PLACES_H

#include <stdint.h>

/*
 * The places (ctid) at which claims and inserts of this server have left the rows of delivered jobs. ack_places.sql finds
 * a row at its place without a search by its key.
 *
 * A place is a hint. The row may have moved since, so the statement compares the key. The table has 1 MB, in buckets of
 * four entries. A fifth place of a bucket replaces one of them. A place is a block number, times 65536, plus an offset
 * from 1 on.
 */

#define ROW_PLACE_NONE 0

void row_places_note(int64_t id, uint64_t place);
/* Removes the place of the job, and returns it. ROW_PLACE_NONE: it is unknown. */
uint64_t row_places_take(int64_t id);
/* Called before a statement that moves the row of the job, and when one has moved it. */
void row_places_forget(int64_t id);

#endif
