#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"
#include "net/request.h"

/*
 * WORKING within another request, which has just taken the job and wants a lease of its own length. The first field of
 * the data of that request.
 */
struct lease_change {
    /* Called after the commit. is_there: the job exists, and the token is valid. until is then the end of the lease in
     * its row. The callee ends r. If the database refuses, r ends with the error, and the lease stays as it was. */
    void (*done)(struct req *r, bool is_there);
    int64_t until; /* before the change: set by the caller */
};

/* r->data is the list of IDs from now on (jobs/id_list.h), and its `own` is own. */
void lease_change(struct req *r, struct job_key key, int64_t token, int64_t seconds,
                  struct lease_change *own);

#endif
