#ifndef ONE_QUEUE_H
#define ONE_QUEUE_H

#include <stdbool.h>
#include "net/request.h"

/* For a command that changes one queue. False if argv[1] contains * or ? and no queue has this name, because the user
 * probably means a pattern. Then it has replied the error and ended the request. */
bool one_queue_or_reply(struct req *r) MUST_CHECK;

#endif
