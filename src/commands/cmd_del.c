/* DEL UNLINK: removes the queued jobs of queues. */
#include <stdlib.h>
#include <string.h>

#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/library_life.h"
#include "jobs/bulk.h"
#include "jobs/bulk_in_txn.h"
#include "net/args.h"
#include "queue/queue_iter.h"

struct key_del {
    struct list_pages pages;
    struct deleting *whole;
    bool was_key; /* when the command began */
};

struct deleting {
    struct req *req;
    size_t pending;
    int64_t keys;
    struct op_error error; /* the first error; message NULL: none */
    struct key_del each[];
};

static void del_note_error(struct deleting *d, const struct op_error *error) {
    size_t size = strlen(error->message) + 1;
    char *message = req_alloc(d->req, size);
    char *sqlstate = req_alloc(d->req, strlen(error->sqlstate) + 1);

    memcpy(message, error->message, size);
    memcpy(sqlstate, error->sqlstate, strlen(error->sqlstate) + 1);
    d->error = (struct op_error){ sqlstate, message };
}

/* A second try does not find jobs that a lost first try removed. */
static void on_key_ended(struct list_pages *p, const struct op_error *error) {
    struct key_del *k = CONTAINER_OF(p, struct key_del, pages);
    struct deleting *d = k->whole;

    d->keys += p->jobs > 0 || (p->lost && k->was_key);
    if (error != NULL && d->error.message == NULL)
        del_note_error(d, error);
    if (--d->pending > 0)
        return;
    if (d->error.message != NULL)
        req_db_error(d->req, &d->error);
    else
        req_int(d->req, d->keys);
}

/* ---- queues ---- */

static int compare_queues(const void *a, const void *b) {
    const struct queue *x = *(struct queue *const *)a, *y = *(struct queue *const *)b;

    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Each queue only once. */
static size_t del_find_queues(struct req *r, struct queue **queues) {
    size_t found = 0, count = 0;

    for (int i = 1; i < r->argc; i++) {
        struct queue *q = queue_find(r->argv[i]);

        if (key_may_exist(r, q))
            queues[found++] = q;
    }
    qsort(queues, found, sizeof(struct queue *), compare_queues);
    for (size_t i = 0; i < found; i++)
        if (count == 0 || queues[count - 1] != queues[i])
            queues[count++] = queues[i];
    return count;
}

/* ---- commands ---- */

static void delete_pages(struct req *r, struct queue **queues, size_t count) {
    struct deleting *d = req_alloc(r, sizeof *d + count * sizeof *d->each);

    *d = (struct deleting){ .req = r, .pending = count };
    for (size_t i = 0; i < count; i++) {
        d->each[i] = (struct key_del){ .pages = { .user = r->task.turn.user,
                                                  .q = queues[i],
                                                  .op = &op_empty_list,
                                                  .ended = on_key_ended },
                                       .whole = d,
                                       .was_key = queue_is_key(queues[i]) };
        bulk_begin(&d->each[i].pages);
    }
}

static void delete_in_txn(struct req *r, struct queue **queues, size_t count) {
    struct key_in_txn *k = req_alloc(r, sizeof *k);

    *k = (struct key_in_txn){
        .queues = queues, .count = count, .removes = true, .least = TIME_BEGINNING, .most = TIME_NEVER
    };
    key_in_txn(r, k);
}

void cmd_del(struct req *r) {
    const struct library_key *k = library_key_of(r);
    struct queue **queues;
    size_t count;

    if (!args_names_or_reply(r, 1, NAMES_IN_A_TURN))
        return;
    if (k != NULL) {
        library_del(r, k);
        return;
    }
    queues = req_alloc(r, (size_t)r->argc * sizeof(struct queue *));
    count = del_find_queues(r, queues);
    if (count == 0)
        req_int(r, 0);
    else if (req_in_txn(r))
        delete_in_txn(r, queues, count);
    else
        delete_pages(r, queues, count);
}

void cmd_unlink(struct req *r) {
    cmd_del(r);
}
