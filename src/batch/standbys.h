#ifndef STANDBYS_H
#define STANDBYS_H

#include <stdbool.h>
#include "base/buf.h"
#include "batch/op.h"

/*
 * What an answered commit has behind it: the database's synchronous standbys, as
 * they were a moment ago. The configured durability asks for them, but it is the
 * database that says (synchronous_standby_names) whether there are any.
 */

/* Asks the database anew. */
void standbys_ask(void);
/* Can a commit be on so many standbys before it is answered? False as long as nothing is known. */
bool standbys_reach(int count);
/* On how many standbys a commit is before it is answered; 0 as long as nothing is known. */
int standbys_count(void);
/* The lines of INFO about durability, in words as well. */
void standbys_info(struct buf *out);

#endif
