#ifndef DB_IMPL_H
#define DB_IMPL_H

#include "pg/db.h"

/*
 * What the halves of a lane share: db_connect.c brings a connection to the point where it is
 * ready, db.c carries flights and sees when a connection is no good any more.
 */
extern struct db {
    struct event_base *base;
    const struct db_hooks *hooks;
    int server_version;
    char last_error[768];
    char cause[512];   /* of the outage, as far as it is known */
    char told[1300];   /* both, for db_last_error() */
    bool disk_is_full; /* says the cause */
    bool was_ready;    /* a lane was, since the start */
} db;

/* For logs: "database writes". */
const char *lane_who(const struct db_lane *lane);
void lane_watch(struct db_lane *lane, bool write);
void lane_arm_timer(struct db_lane *lane, int64_t us);
bool lane_send_all(struct db_lane *lane) MUST_CHECK;
/* Ends the connection, and tells of flights and of the lane; another one is made in a while. */
void lane_down(struct db_lane *lane, const char *why);
/* The same when libpq found the connection broken, for its reason. */
void lane_broken(struct db_lane *lane);
/* The connection is prepared. */
void lane_ready(struct db_lane *lane);
bool result_is_error(const PGresult *res);

/* Has it waited for an answer for long? */
bool lane_hangs(const struct db_lane *lane);

/* Which host: all lanes are on the same primary, that with the highest timeline. */
void place_init(const char *conninfo);
void place_add(struct db_lane *lane);
void place_remove(struct db_lane *lane);
/* Sets lane->host to where it is to connect. */
void place_choose(struct db_lane *lane);
/* It could not connect there. True when it has been at all hosts since it was connected. */
bool place_next(struct db_lane *lane);
/* May the lane work with who says this of itself? If not it is down now. */
bool place_accept(struct db_lane *lane, const PGresult *identity) MUST_CHECK;

/* Begins to connect. */
void lane_connect(struct db_lane *lane);
/* Something has come, or the time is over, and the lane is not ready yet. */
void lane_connect_step(struct db_lane *lane);
void lane_connect_timer(struct db_lane *lane);
/* What Postgres calls it. */
const char *durability_setting(enum durability durability);
/* Sends the statement that sets when commits of the session, or of this transaction alone, count as done. */
bool send_durability(PGconn *conn, enum durability durability, bool transaction) MUST_CHECK;

#endif
