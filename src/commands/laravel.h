#ifndef LARAVEL_H
#define LARAVEL_H

#include <stdbool.h>
#include "commands/dispatch.h"
#include "net/request.h"

/*
 * The queue of Laravel (Illuminate\Queue\RedisQueue). Its list queues:NAME is a queue. The members of the sorted set
 * queues:NAME:delayed are the delayed jobs of the queue, and those of queues:NAME:reserved its leased jobs. The list
 * queues:NAME:notify does not exist: BLPOP waits until the queue has a ready job.
 *
 * A worker gets the ID and token of a job as its reserved member. It deletes or releases the job by this member.
 */

/* The translations of scripts (scripts.def): they replace the arguments of r by those of a command, and may set r->data.
 * False: the error has been replied, and the caller ends r. */
bool laravel_later(struct req *r, const struct slice *keys, const struct slice *args) MUST_CHECK;
bool laravel_release(struct req *r, const struct slice *keys, const struct slice *args) MUST_CHECK;
bool laravel_take(struct req *r, const struct slice *keys, const struct slice *args) MUST_CHECK;
/* The handler of the script that laravel_take() has translated. */
void laravel_pop(struct req *r);

/* The handler of the script that replies the size of a queue: its jobs in all states. */
void laravel_size(struct req *r);
/* The handler of the script that deletes the jobs of a queue in all states, and replies their number. */
void laravel_clear(struct req *r);

/* True if Laravel sends the command for queues:NAME:delayed (delayed), or for queues:NAME:reserved. */
bool laravel_has(const struct command *cmd, bool delayed);
/* ZADD, ZREM and ZCARD: true if the key is such a key. The request is done, or ends with an error. */
bool laravel_runs(struct req *r);

/* True if the key is queues:NAME:notify. Sets *queue to queues:NAME. */
bool laravel_is_notify(struct slice key, struct slice *queue);
/* BLPOP of such a key: waits for a ready job of the queue until deadline_us (clock_mono(); 0: none). */
void laravel_wait(struct req *r, struct slice queue, int64_t deadline_us);

#endif
