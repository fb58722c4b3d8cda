#ifndef STANDBY_H
#define STANDBY_H

#include "postgres.h"

/* A primary and a standby that streams from it. Both are throwaway Postgres. The name of the standby is "one". The
 * primary waits for it only after primary_waits_for(). */
#define STANDBY_NAME "one"

void primary_start(struct postgres *primary);
/* Copies the primary, and waits until it streams. */
void standby_start(struct postgres *standby, struct postgres *primary);
/* The standby becomes a primary; returns when it takes writes. */
void standby_promote(struct postgres *standby);
/* Sets synchronous_standby_names, and returns when the setting is in force. */
void primary_waits_for(struct postgres *primary, const char *names);
/* While on is set, commits wait for a standby that does not exist. Returns when new commits do, or do not. */
void commits_wait_for_missing(const char *conninfo, bool on);
bool primary_streams(struct postgres *primary);
/* Returns when the standby shows all that the primary has committed. */
void standby_catches_up(struct postgres *primary);

/* The process of the primary that sends to the standby, or 0. */
pid_t walsender(struct postgres *primary);

/* Returns after the process has stopped. Until SIGCONT, commits wait for the standby. */
pid_t walsender_stop(struct postgres *primary);

#endif
