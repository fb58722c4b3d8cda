/* The observer of committed changes, and the announcements that were not sent yet. */
#include "queue/observer.h"

#include <stddef.h>

const struct queue_observer *queue_observer;
unsigned queue_announced;
