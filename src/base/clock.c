/* The time of the turn: monotonic clock, wall clock, and the estimate of the database's clock. */
#include "base/clock.h"

#include <time.h>

#include "base/log.h"
#include "base/saturate.h"

static int64_t turn_mono, turn_unix;
static int64_t latest;   /* last value of the monotonic clock */
static int64_t db_ahead; /* the database's clock minus the monotonic clock */
static int64_t last_db;  /* last value of clock_db() */
static bool db_known;
static bool stale = true;

/* Estimates of two servers differ by less. A server that is further ahead may not have noticed a step back yet. */
#define MAX_LEAD_US (250 * US_PER_MS)
#define NEAR_US (10 * US_PER_S)

/* First estimate: the most answers to use, and the round trip that is short enough to stop earlier. */
#define FIRST_ANSWERS 8
#define FIRST_GOOD_US (3 * US_PER_MS)

static int64_t read_clock(clockid_t id) {
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

void clock_turn(void) {
    stale = true;
}

static void refresh(void) {
    stale = false;
    turn_mono = latest = read_clock(CLOCK_MONOTONIC);
    turn_unix = read_clock(CLOCK_REALTIME);
    /* The wall clock is the estimate until the database's time is known. */
    if (!db_known)
        db_ahead = turn_unix - turn_mono;
}

int64_t clock_mono(void) {
    if (stale)
        refresh();
    return turn_mono;
}

int64_t clock_unix(void) {
    if (stale)
        refresh();
    return turn_unix;
}

/* A job that is ready at one reading must be ready at the next one. Therefore the clock does not follow small steps
 * back. It keeps its value until the estimate has reached it. */
int64_t clock_db(void) {
    int64_t now = clock_mono() + db_ahead;

    if (now < last_db && last_db - now < CLOCK_STEP_US)
        return last_db;
    last_db = now;
    return now;
}

int64_t clock_mono_now(void) {
    latest = read_clock(CLOCK_MONOTONIC);
    return latest;
}

int64_t clock_latest(void) {
    return latest;
}

int64_t clock_rest_end(int64_t began_us, int64_t times, int64_t most_us) {
    return clock_mono() + int64_least((clock_mono() - began_us) * times, most_us);
}

void clock_db_reached(int64_t db_us) {
    if (db_us > clock_db() && db_us - last_db < MAX_LEAD_US)
        last_db = db_us;
}

bool clock_db_is_near(int64_t db_us) {
    int64_t now = clock_db();

    return db_us >= now - NEAR_US && db_us <= now + NEAR_US;
}

int64_t clock_sync_db(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us) {
    int64_t least = db_us - answered_mono_us, most = db_us - asked_mono_us, before = db_ahead;

    if (!db_known || db_ahead < least || db_ahead - most >= CLOCK_STEP_US)
        db_ahead = least;
    else if (db_ahead > most)
        db_ahead = most;
    if (!db_known)
        before = db_ahead;
    db_known = true;
    if (clock_is_step(db_ahead - before))
        log_warning("clock", "the database's clock was set by %+.3f s: leases, delays and TTLs follow it",
                    (double)(db_ahead - before) / US_PER_S);
    return db_ahead - before;
}

bool clock_sync_first(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us) {
    static int answers;
    bool was_known = db_known && answers == 0;
    int64_t moved = clock_sync_db(db_us, asked_mono_us, answered_mono_us);
    bool agrees = was_known && !clock_is_step(moved);
    bool enough = agrees || ++answers >= FIRST_ANSWERS || answered_mono_us - asked_mono_us <= FIRST_GOOD_US;

    if (enough)
        answers = 0;
    return enough;
}
