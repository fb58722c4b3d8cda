/* Finds the age of the oldest job over all queues, in passes over the queues. */
#include "queue/queue_survey.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "queue/queue.h"

/* Queues that one tick looks at. */
#define LOOKS 1000

static struct {
    uint32_t slot;     /* the next queue of the pass */
    int64_t oldest_us; /* clock_db() when the oldest job that the pass has seen became due; INT64_MAX: none */
    int64_t reported_us; /* the same of the last whole pass */
} survey = { .oldest_us = INT64_MAX, .reported_us = INT64_MAX };

static void survey_queue(const struct queue *q) {
    int64_t age_us;

    if (q->hidden || queue_is_shut(q))
        return;
    age_us = queue_oldest_us(q);
    if (age_us > 0 && clock_db() - age_us < survey.oldest_us)
        survey.oldest_us = clock_db() - age_us;
}

void queue_survey_tick(void) {
    for (int left = LOOKS; left > 0 && survey.slot < queue_slots(); left--) {
        const struct queue *q = queue_at(survey.slot++);

        if (q != NULL)
            survey_queue(q);
    }
    if (survey.slot < queue_slots())
        return;
    survey.reported_us = survey.oldest_us;
    survey.oldest_us = INT64_MAX;
    survey.slot = 0;
}

int64_t queue_survey_oldest_us(void) {
    return survey.reported_us == INT64_MAX ? 0 : int64_at_least_zero(clock_db() - survey.reported_us);
}
