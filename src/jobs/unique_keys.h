#ifndef UNIQUE_KEYS_H
#define UNIQUE_KEYS_H

/* Deletes expired keys whose jobs are gone. */
void unique_keys_prune(void);

#endif
