"""I10: at most one job has a key, and exactly one after an ADDJOB has confirmed it. I20: the same with UNTIL START."""
import collections

from history import FOREVER, STARTS

# The clock by which keys are taken may be this far from the clients'.
EPSILON = 50000


class Life:
    """When a job surely had its key, and when it may have had it. Microseconds."""

    def __init__(self, job):
        acks = [op for op in job.acks if op.kind != "f"]
        self.job = job
        self.seen = min((op.end for op in [*job.told, *(d.op for d in job.deliveries)]), default=FOREVER)
        self.kept = min((op.begin for op in acks), default=FOREVER)  # no client can have removed it before
        # A running job ends some time after its CANCEL.
        self.gone = min((op.end for op in acks if op.kind == "o" and op.verb != "c"), default=FOREVER)
        self.added = job.op.begin  # or later
        self.invariant = "I10"
        if job.queue == STARTS:
            self.invariant = "I20"
            self.kept = min(self.kept, min((max(d.op.begin, job.op.begin) for d in job.deliveries), default=FOREVER))
            self.gone = min(self.gone, min((d.op.end for d in job.deliveries), default=FOREVER))


def lives(jobs):
    """The keys of all delivered jobs, by queue and key."""
    found = collections.defaultdict(list)
    for job in jobs:
        if job.key is not None and job.deliveries:
            found[job.queue, job.key].append(Life(job))
    return found


def check(checker):
    for known in checker.lives.values():
        known.sort(key=lambda life: life.seen)
        last = None  # of the jobs before, the job that surely exists the longest
        for life in known:
            # A server takes a delivery back whose client has gone. The key was free for that moment.
            if life.job.queue != STARTS or checker.gentle:
                check_two(checker, last, life)
            check_time(checker, life, known)
            check_none(checker, life)
            if last is None or life.kept > last.kept:
                last = life
    for job in checker.jobs:
        if job.key is not None:
            check_not_added(checker, job)


def check_two(checker, before, life):
    if before and life.seen < min(before.kept, life.kept):
        checker.verdict.counts["keys of two jobs"] += 1
        checker.wrong(life.invariant, f"the job {before.job.token} with the same key {life.job.key} was still there", life.job,
                      sorted({*before.job.ops(), *life.job.ops()}, key=lambda op: op.begin)[-16:])


def check_time(checker, life, known):
    """FOR: from an addition to the next."""
    for other in known:
        first, last = min(other.added, life.added), max(other.seen, life.seen)
        if other is not life and life.job.key_s and other.seen <= life.seen and \
                last - first < life.job.key_s * 1000000 - EPSILON - checker.clock_us:
            checker.wrong("I10", f"added {(last - first) / 1e6:.3f} s after the job {other.job.token}, in spite of FOR",
                          life.job, [*other.job.ops(), *life.job.ops()])


def check_none(checker, life):
    """An ADDJOB replied the ID of a job that was gone before it was sent. With FOR it may be."""
    for op in life.job.told:
        if op.begin > life.gone and not life.job.key_s:
            checker.wrong(life.invariant, "a job that was gone was said to have the key", life.job, [*life.job.ops(), op])


def check_not_added(checker, job):
    """Whose ADDJOB replied another's ID was not added; unless the answer of the first try was lost, and it is done."""
    if job.op.kind != "o" or job.holder is job or not job.deliveries:
        return
    if checker.disturbed(job.op.begin, job.op.end):
        checker.verdict.counts["keys taken again while a reply was lost"] += 1
    else:
        checker.wrong("I10", f"was added although {job.holder.token} had the key", job)


def is_excused(checker, job):
    """The job whose ID was replied never came. Its ADDJOB may have found another, which was done when a lost answer
    was looked for."""
    def was_there(life):
        return life.job is not job and life.added < job.op.end and life.gone > job.op.begin

    return checker.disturbed(job.op.begin, job.op.end) and any(map(was_there, checker.lives[job.queue, job.key]))
