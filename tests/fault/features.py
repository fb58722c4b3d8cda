"""Judges further promises: groups (I8), max-active (I9), attempts (I15), retention (I16), workflows (I17), CANCEL (I18),
REPLACE (I19), schedules (I21)."""
import collections

from history import FOREVER, GROUPS, KEPT, LIMITED, RENEWED, REPLACED, SKIPPED, internal_id
import keys

S = 1000000
# Of QCONFIG, as the scenario_run sets them.
MAX_ACTIVE = 3
RETENTION = 3600
# Clocks of servers, by which jobs get their places, are not the same.
CLOCKS_APART = S // 2
EPSILON = S // 20


def check(checker):
    for one in (check_groups, check_running, check_dead, check_kept, check_flows, check_cancelled, check_replaced,
                check_overlap):
        one(checker)


def ended_at(job):
    """When it can have gone from its queue at the earliest."""
    return min((op.begin for op in job.acks if op.kind != "f"), default=FOREVER)


# ---- I8: jobs of a group run in order, one at a time ----

def check_groups(checker):
    groups = {}
    for job in checker.jobs:
        if job.queue == GROUPS:
            groups.setdefault(job.group, []).append(job)
    for jobs in groups.values():
        checker.verdict.counts["jobs of groups"] += len(jobs)
        check_group(checker, jobs)


def check_group(checker, jobs):
    """Once a job is there, none that was added after it comes before it has gone."""
    # The jobs that are known to exist, by their time; and for each beginning the job that ended last.
    there = sorted((job for job in jobs if job.op.kind == "o"), key=lambda job: job.op.end)
    at, last = 0, None
    for job in sorted(jobs, key=lambda job: job.op.begin):
        while at < len(there) and there[at].op.end + CLOCKS_APART + checker.clock_us < job.op.begin:
            last = max(last or there[at], there[at], key=ended_at)
            at += 1
        came = min((d.op.end for d in job.deliveries), default=FOREVER)
        if last is not None and came < ended_at(last):
            checker.wrong("I8", "came before an older one of its group had gone", job, [*last.ops()[-6:], *job.ops()[-6:]])


# ---- I9: no more than max-active run at once ----

def running(job, slack):
    """From when until when it was running for sure, for each delivery. The server takes the job of a refused ADDJOB back.

    A server that was frozen may execute an ACKJOB of an earlier delivery during a later one.
    """
    if job.op.kind == "f":
        return
    ends = [op for op in job.acks + job.requeues if op.kind != "f"]
    for d in job.deliveries:
        end = min([d.op.begin + job.retry_us - slack, *(op.begin for op in ends if op.done_by() > d.op.begin)])
        if job.op.begin + job.ttl_us > d.op.begin:
            end = min(end, job.op.begin + job.ttl_us)
        if d.op.end < end:
            yield d.op.end, end


def check_running(checker):
    jobs = [job for job in checker.jobs if job.queue == LIMITED]
    spans = [span for job in jobs for span in running(job, EPSILON + checker.clock_us)]
    steps = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    checker.verdict.counts["jobs of a limited queue"] += len(jobs)
    if most > MAX_ACTIVE:
        checker.wrong("I9", f"{most} jobs of a queue with max-active {MAX_ACTIVE} ran at once")


# ---- I15: exactly so many attempts, and then among the dead or in the DEADQUEUE, once ----

def check_dead(checker):
    for job in checker.jobs:
        if job.attempts:
            check_attempts(checker, job)


def check_attempts(checker, job):
    """A delivery whose answer was lost counts as well, so clients may have seen fewer, but never more."""
    attempts = [d for d in job.deliveries if d.queue == job.queue]
    moved = [d for d in job.deliveries if d.queue != job.queue]
    unseen = job.attempts - len(attempts)
    if unseen < 0:
        checker.wrong("I15", f"delivered {len(attempts)} times, not {job.attempts}", job)
    if moved:
        check_moved(checker, job, attempts, moved)
    for row_id in map(internal_id, job.ids):
        if row_id in checker.dead:
            check_death(checker, job, row_id)
    if unseen > 0 and (moved or any(internal_id(i) in checker.dead for i in job.ids)):
        checker.verdict.counts["attempts whose answer was lost"] += unseen
        if checker.gentle:
            checker.wrong("I15", f"died, and was delivered {len(attempts)} times, not {job.attempts}", job)


def check_moved(checker, job, attempts, moved):
    checker.verdict.counts["jobs moved to a DEADQUEUE"] += 1
    first = min(d.op.end for d in moved)
    if any(d.op.begin > first for d in attempts):
        checker.wrong("I15", "delivered from its queue after it had died", job)


def check_death(checker, job, row_id):
    attempts = int(checker.dead[row_id]["deliveries"])
    if attempts != job.attempts:
        checker.wrong("I15", f"died after {attempts} attempts, not {job.attempts}", job)
    if row_id in checker.left:
        checker.wrong("I15", "among the dead, and among the living", job)
    if job.deadqueue:
        checker.wrong("I15", "among the dead, and not in its DEADQUEUE", job)


# ---- I16: finished jobs are kept for their retention ----

def check_kept(checker):
    for job in checker.jobs:
        if job.queue == KEPT and not checker.clock_us:
            check_done(checker, job)


def check_done(checker, job):
    done = [op for op in job.acks if op.kind == "o" and op.verb in "kf" and op.count() == len(op.ids)]
    is_kept = any(internal_id(i) in checker.kept for i in job.ids)
    if done and not is_kept and not any(op.verb == "d" for op in job.acks):
        checker.wrong("I16", "acknowledged, and not kept", job)
    checker.verdict.counts["jobs kept"] += is_kept
    if is_kept and not any(op.verb in "kf" and op.kind != "f" for op in job.acks):
        checker.wrong("I16", "kept as done, and nobody said so", job)
    if is_kept and any(internal_id(i) in checker.left for i in job.ids):
        checker.wrong("I16", "kept as done, and among the living", job)


# ---- I17: a job runs after the jobs that it names have ended ----

def check_flows(checker):
    for job in checker.jobs:
        checker.verdict.counts["jobs of workflows"] += bool(job.after)
        came = min((d.op.end for d in job.deliveries), default=FOREVER)
        for before in (checker.history.jobs[token] for token in job.after):
            if came < ended_at(before):
                checker.wrong("I17", "came before a job that it waits for had ended", job,
                              [*before.ops()[-6:], *job.ops()[-6:]])


# ---- I18: a cancelled job is not delivered, and no lease of it is extended ----

def check_cancelled(checker):
    for job in checker.jobs:
        cancels = [op for op in job.acks if op.verb == "c" and op.kind == "o" and op.count()]
        if cancels:
            checker.verdict.counts["jobs cancelled"] += 1
            check_cancel(checker, job, min(op.end for op in cancels))


def check_cancel(checker, job, told):
    for d in job.deliveries:
        if checker.is_after(d, told):
            checker.wrong("I18", "delivered after its CANCEL", job)
    for op in job.postpones:
        if op.kind == "o" and op.count() and op.begin > told:
            checker.wrong("I18", "WORKING extended its lease after its CANCEL", job)


# ---- I19: with REPLACE the last body is delivered ----

# A server takes a delivery back whose client has gone. The job counted as delivered for a moment.
UNDELIVERED = S // 5


def check_replaced(checker):
    # Jobs of a GETJOB whose answer a fault destroyed keep their leases until its server is connected again.
    takes = [op for op in checker.history.ops.values() if op.verb == "g" and REPLACED in op.args[2] and checker.hit(op)]
    adds = collections.defaultdict(list)
    for job in checker.jobs:
        if job.queue == REPLACED and job.op.kind == "o":
            adds[job.op.reply].append(job.op)
    for job in checker.jobs:
        if job.queue == REPLACED and job.deliveries:
            check_body(checker, job, job.deliveries[0], adds[job.deliveries[0].id], takes)


def check_body(checker, job, first, ops, takes):
    """ops: the ADDJOBs that replied the ID of the job. takes: the GETJOBs whose answer may be lost."""
    shown = checker.history.jobs[first.token].op
    # With other counters it was delivered before, and no client got it. Then it may have been returned, and replaced.
    if shown.kind != "o" or first.nacks or first.additional_deliveries:
        return
    checker.verdict.counts["jobs with replaced bodies"] += len(ops) > 1
    later = [op for op in ops if op.begin > shown.end and
             (op.end < first.op.begin or checker.is_after(first, op.end) and not checker.disturbed(op.begin, first.op.end)) and
             not any(take.begin < op.end and op.begin < take.end for take in takes)]
    if later and (checker.gentle or max(op.begin for op in later) - min(op.end for op in later) > UNDELIVERED):
        checker.wrong("I19", "delivered with an older body", job, [shown, *later[:4], first.op])


# ---- I21: OVERLAP: the job of a tick is alone ----

def check_overlap(checker):
    for queue in (SKIPPED, RENEWED):
        lives = sorted((keys.Life(job) for job in checker.history.scheduled.values() if job.queue == queue),
                       key=lambda life: life.seen)
        checker.verdict.counts["jobs of ticks"] += len(lives)
        for before, life in zip(lives, lives[1:]):
            if queue == SKIPPED and life.seen < min(before.kept, life.kept):
                tell_overlap(checker, "the job of another tick was still there", before, life)
            # The later job was delivered after the other one for sure, so that it is that of a later tick.
            if queue == RENEWED and life.job.deliveries[0].op.begin > before.seen and \
                    any(d.op.begin > life.seen for d in before.job.deliveries):
                tell_overlap(checker, "a job was delivered that a later tick had replaced", before, life)


def tell_overlap(checker, what, before, life):
    checker.wrong("I21", what, life.job, sorted({*before.job.ops(), *life.job.ops()}, key=lambda op: op.begin)[-12:])
