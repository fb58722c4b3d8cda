"""Judges a history: I1 to I22 of what a queue server promises, as far as its commands allow.

Two kinds of bounds. The hard ones follow from the order of the lines alone and hold
whatever happened. The tight ones also assume that nothing stood still, and count
only where no fault was near.
"""
import bisect
import collections

import features
from history import FOREVER, ORDERED, History, internal_id
import keys
from faults import SERVER

S = 1000000
# The largest delay, in the clients' view, between two replies that the server wrote in a row.
JITTER = S // 2
# Clocks are read at different moments.
EPSILON = S // 20
# The time after a fault for reconnecting with back-off, recovery, and the waiting jobs.
AFTERMATH = 4 * S
# I14: the first success after the end of a fault, and answers beyond their time limit.
FIRST_SUCCESS = 5 * S
OVERDUE = 1 * S


# Errors that are about the job, or ask to come back later, as a server does that starts.
HARMLESS = ("MAXLEN", "NOJOB", "TOOLATE", "LOADING", "CANCELLED")


class Verdict:
    def __init__(self):
        self.wrong = []  # (invariant, text)
        self.counts = collections.Counter()
        self.longest_stall = 0
        self.stall_of_others = 0  # while a fault hit a single one of several servers
        self.by_invariant = collections.Counter()

    def merge(self, other, name):
        """Adds the verdict of a part of the scenario."""
        self.wrong += [(invariant, f"{name}: {text}") for invariant, text in other.wrong]
        self.counts.update(other.counts)
        self.by_invariant.update(other.by_invariant)
        self.longest_stall = max(self.longest_stall, other.longest_stall)

    def add(self, invariant, text):
        self.by_invariant[invariant] += 1
        if self.by_invariant[invariant] <= 5:
            self.wrong.append((invariant, text))


class Checker:
    """gentle: no client died and nothing else went wrong, so that nothing is excused."""

    def __init__(self, path, faults, rest, load_end, scenario, slow=1):
        self.load_end = load_end
        self.history = History(path)
        self.jobs = self.history.jobs.values()
        self.lives = keys.lives(self.jobs)
        self.faults = sorted((f for f in faults if f["excuses"]), key=lambda f: f["begin"])
        # Rows of the tables in the end, by internal id.
        self.left, self.dead, self.kept = ({int(row["id"]): row for row in rest[table]} for table in ("left", "dead", "kept"))
        self.gentle, self.clean, self.slow = scenario.gentle, scenario.clean, slow
        self.servers = scenario.servers
        self.verdict = None
        self.clock_us = clock_steps(faults)

    def run(self, verdict):
        self.verdict = verdict
        for check in (self.check_bodies, self.check_ids, self.check_loss, self.check_at_most_once,
                      self.check_after_ack, self.check_leases, self.check_times, self.check_order, self.check_keys,
                      self.check_counters, self.check_transactions, self.check_answers, self.check_recovery):
            check()
        features.check(self)
        self.count()

    def wrong(self, invariant, text, job=None, ops=()):
        ops = list(ops) or (job.ops()[-12:] if job else [])
        head = f" (job {job.token}, queue {job.queue}, RETRY {job.retry})" if job else ""
        self.verdict.add(invariant, text + head + "".join(f"\n      {op}" for op in ops))

    def disturbed(self, begin, end, *excuses, server=None):
        """True if a fault with one of these excuses, or its aftermath, lies between the two times.

        With a server: only faults of that server count.
        """
        return any(f["begin"] <= end and begin <= f["end"] + AFTERMATH and
                   (server is None or f["server"] in (None, server)) and
                   (not excuses or set(excuses) & set(f["excuses"])) for f in self.faults)

    def hit(self, op):
        """Did a fault hit the server of this command while the command was in flight?"""
        return self.disturbed(op.begin, op.end, server=self.history.servers[op.conn])

    # ---- I12: a transaction is done as a whole, or not at all ----

    def check_transactions(self):
        for ack, add in self.history.transactions:
            job, new = self.history.by_id.get(ack.ids[0]), self.history.jobs[add.args[0]]
            self.verdict.counts["transactions"] += 1
            if ack.kind != add.kind:
                self.wrong("I12", "EXEC says that one was done and the other was not", ops=[ack, add])
            if job is None or not new.deliveries:
                self.check_undone(ack, add, job, new)
                continue
            seen = min(d.op.end for d in new.deliveries)
            late = [d.op for d in job.deliveries if d.op.begin > seen]
            if late:
                self.wrong("I12", "the job was added, and the other is delivered all the same", job, [ack, add, *late[:3]])

    def check_undone(self, ack, add, job, new):
        """True if this command acknowledged the job (no other can have ended it), and the other job was not added."""
        if job is None or ack.kind != "u" or job.ttl_us < FOREVER or job.retry == 0 or len(job.acks) > 1:
            return
        if any(d.op.begin > ack.begin for d in job.deliveries) or internal_id(ack.ids[0]) in self.left:
            return
        self.wrong("I12", "the job was acknowledged, and the other one never came", job, [ack, add])

    # ---- I2, I3: each delivered job was added, and has a single ID ----

    def check_bodies(self):
        for delivery in self.history.strangers:
            self.wrong("I2", "a body that nobody sent", ops=[delivery.op])
        for job in self.jobs:
            for d in job.deliveries:
                if d.queue not in (job.queue, job.deadqueue or job.queue) or d.queue not in d.op.args[2]:
                    self.wrong("I2", f"delivered from queue {d.queue}", job)
            if job.deliveries and job.op.kind == "f" and not job.op.reply.startswith("NOREPL"):
                self.wrong("I2", "delivered although ADDJOB was refused", job)
        for op in self.history.unknown_ids:
            self.wrong("I2", "a command on an ID that no delivery brought", ops=[op])

    def check_ids(self):
        for job in self.jobs:
            if len(job.ids) > (2 if job.deadqueue else 1):
                self.wrong("I3", f"one job under {len(job.ids)} IDs", job)
            if any(self.history.by_id[job_id] is not job for job_id in job.ids):
                self.wrong("I3", "an ID of two jobs", job)

    # ---- I1: a confirmed job is delivered until it is acknowledged ----

    def check_loss(self):
        for job in self.jobs:
            self.check_outcome(job)

    def check_outcome(self, job):
        counts = self.verdict.counts
        gone = any(op.kind != "f" for op in job.acks)
        if job.key is not None and job.op.kind == "o" and job.holder is not job:
            counts["keys taken"] += 1
            return
        if job.op.kind != "o":
            counts["adds unknown" if job.op.kind == "u" else "adds refused"] += 1
            return
        counts["jobs added"] += 1
        if gone:
            counts["jobs acknowledged"] += 1
            self.check_ack_known(job)
        elif job.attempts and not job.deadqueue and internal_id(job.op.reply) in self.dead:
            counts["jobs dead"] += 1
        elif job.ttl_us != FOREVER:
            counts["jobs expired"] += 1
        elif job.retry == 0:
            self.check_loss_at_most_once(job)
        elif job.key is not None and not job.deliveries and keys.is_excused(self, job):
            counts["keys taken, by a job that is done"] += 1
        else:
            told = "" if job.deliveries else ", never delivered"
            self.wrong("I1", self.missing(job) + told, job)

    def missing(self, job):
        """A job is missing: it is gone, or no server delivers it."""
        row = self.left.get(internal_id(next(iter(job.ids))))
        self.verdict.counts["stuck" if row else "lost"] += 1
        if row is None:
            return "lost: not in the table any more"
        return "stuck: in the table as " + ", ".join(f"{k} {v}" for k, v in row.items())

    def check_loss_at_most_once(self, job):
        if job.deliveries:
            self.verdict.counts["at most once, delivered and not acknowledged"] += 1
        elif not self.gentle:
            self.verdict.counts["at most once, lost with a client or connection"] += 1
        else:
            self.wrong("I1", self.missing(job) + ", never delivered", job)

    def check_ack_known(self, job):
        """The first acknowledgement of a job finds it, if no other command can have removed it before."""
        first = min(job.acks, key=lambda op: op.end)
        if (first.kind != "o" or first.count() != 0 or len(first.ids) > 1 or job.ttl_us != FOREVER or
                any(op is not first and op.begin < first.end for op in job.acks)):
            return
        if not self.disturbed(first.begin, first.end):
            self.wrong("I1", "the first acknowledgement did not find the job", job)

    # ---- I4, I5 ----

    def check_at_most_once(self):
        for job in self.jobs:
            if job.retry == 0 and len(job.deliveries) > 1:
                self.verdict.counts["doubled, not explained"] += 1
                self.wrong("I4", f"RETRY 0, delivered {len(job.deliveries)} times", job)

    def check_after_ack(self):
        for job in self.jobs:
            acked = min((op.end for op in job.acks if op.kind == "o" and op.verb != "c"), default=FOREVER)
            for d in job.deliveries:
                if self.is_after(d, acked):
                    self.verdict.counts["doubled, not explained"] += 1
                    self.wrong("I5", "delivered after its acknowledgement", job)

    def is_after(self, d, time):
        """Was it delivered after that time for sure?"""
        return d.op.begin > time or (d.op.end > time + JITTER * self.slow and not self.stood_still(d))

    def stood_still(self, delivery):
        """May it be older than it looks, because its server got or wrote it late, while another went on?"""
        op = delivery.op
        return self.servers > 1 and self.hit(op)

    # ---- I6: two deliveries are RETRY apart ----

    def check_leases(self):
        for job in self.jobs:
            if job.retry > 0:
                for before, after in zip(job.deliveries, job.deliveries[1:]):
                    self.check_pair(job, before, after)
                for op in job.postpones:
                    self.check_postponed(job, op)

    def check_pair(self, job, before, after):
        counts = self.verdict.counts
        earliest = max(before.op.begin, job.op.begin + job.delay_us)
        if before.op is after.op:
            self.wrong("I6", "twice in one reply", job)
        elif self.requeued(job, before.op.begin, after.op.end):
            counts["redelivered after NACK or ENQUEUE"] += 1
            return
        elif before.op.end - after.op.begin >= job.retry_us and self.stood_still(after):
            counts["redelivered after RETRY"] += 1
            return
        elif after.op.end - earliest < job.retry_us - EPSILON - self.clock_us:
            self.wrong("I6", f"again {(after.op.end - earliest) / S:.3f} s after the first could begin", job)
        elif (after.op.end - before.op.end < job.retry_us - JITTER * self.slow - self.clock_us and
              not self.disturbed(earliest, after.op.end)):
            self.wrong("I6", f"again after {(after.op.end - before.op.end) / S:.3f} s", job)
        else:
            counts["redelivered after RETRY"] += 1
            return
        counts["doubled, not explained"] += 1

    def requeued(self, job, begin, end):
        """Did NACK or ENQUEUE put it back in between?"""
        return any(op.begin <= end and op.done_by() >= begin and op.kind != "f" and
                   (op.kind == "u" or op.count() != 0)
                   for op in job.requeues)

    def check_postponed(self, job, op):
        """WORKING and DEQUEUE begin the retry time anew."""
        if op.kind != "o" or op.count() == 0:
            return
        # If two commands have replies in a row, the later command was executed later.
        after = [d for d in job.deliveries if d.op.end > op.end + JITTER * self.slow and
                 (d.op.begin > op.end or not self.stood_still(d))]
        if not after or self.requeued(job, op.begin, after[0].op.end):
            return
        early = job.retry_us - EPSILON - self.clock_us - (after[0].op.end - op.begin)
        if early > 0:
            self.wrong("I6", f"delivered {early / S:.3f} s before the end of a {op.verb}", job)

    # ---- I7: not before DELAY, not after TTL ----

    def check_times(self):
        for job in self.jobs:
            for d in job.deliveries[:1]:
                if d.op.end < job.op.begin + job.delay_us - EPSILON - self.clock_us:
                    self.wrong("I7", "delivered before its DELAY was over", job)
            if job.ttl_us != FOREVER and job.op.kind == "o":
                self.check_ttl(job)

    def check_ttl(self, job):
        over = job.op.end + job.ttl_us + self.clock_us
        for d in job.deliveries:
            late = d.op.begin > over + S or (d.op.end > over + S and not self.disturbed(over - S, d.op.end))
            if late:
                self.wrong("I7", "delivered after its TTL was over", job)

    # ---- I8: the order of a queue with one producer and one consumer ----

    def check_order(self):
        taken = [(job.token, job.deliveries[0].op) for job in self.jobs if job.queue == ORDERED and job.deliveries]
        inversions, came = 0, FOREVER
        for _, op in sorted(taken, key=lambda pair: pair[0], reverse=True):
            # In the end all connections take the remaining jobs, and see replies of a moment in any order. But a job
            # requested after a younger job had come was passed by.
            inversions += op.begin > came
            came = min(came, op.end)
        self.verdict.counts["inversions"] += inversions
        if inversions and self.gentle:
            self.wrong("I8", f"{inversions} of {len(taken)} jobs of the ordered queue came after younger ones")

    # ---- I10: keys ----

    def check_keys(self):
        keys.check(self)

    # ---- I11: counters of a job ----

    def check_counters(self):
        for job in self.jobs:
            nacks = [op for op in job.requeues if op.verb == "n"]
            for returns, d in enumerate(job.deliveries):
                # A dead letter is a new job, without the end of its last lease.
                if d.nacks is not None and d.queue == job.queue:
                    self.check_counter(job, nacks, returns, d)

    def check_counter(self, job, nacks, returns, d):
        least = sum(op.kind == "o" and op.count() > 0 and op.end < d.op.begin for op in nacks)
        most = sum(op.kind != "f" and op.begin < d.op.end for op in nacks)
        if not least <= d.nacks <= most:
            self.wrong("I11", f"nacks {d.nacks}, but {least} to {most} were sent", job)
        if d.nacks + d.additional_deliveries < returns and not self.stood_still(d):
            self.wrong("I11", f"delivery {returns + 1} says nacks {d.nacks}, additional-deliveries {d.additional_deliveries}", job)

    # ---- I14: everybody is answered in time, and soon again after a fault ----

    def check_answers(self):
        before = {}  # when the connection's earlier commands had been answered
        for op in self.history.ops.values():
            if op.reply in ("end", "never ended"):
                self.wrong("I14", "never answered", ops=[op])
            elif op.reply == "gave up":
                self.check_patience(op)
            elif op.verb == "g" and op.kind == "o":
                self.check_overdue(op, max(op.args[1], 0), 0, ())
            elif op.verb == "a" and op.kind != "u" and op.args[5] > 0:
                self.check_overdue(op, op.args[5], before.get(op.conn, 0), (SERVER,))
            if op.kind == "f":
                self.check_error(op)
            before[op.conn] = max(before.get(op.conn, 0), op.end)

    def check_overdue(self, op, ms, not_before, excuses):
        """ADDJOB's ms-timeout is kept even when the database is away, but replies come in order."""
        over = max(op.begin + ms * 1000, not_before) + OVERDUE * self.slow
        near = self.disturbed(over - OVERDUE - ms * 1000, op.end, *excuses, server=self.history.servers[op.conn])
        if op.end > over and not near:
            self.wrong("I14", f"answered {(op.end - over + OVERDUE) / S:.1f} s after its time limit", ops=[op])

    def check_patience(self, op):
        """A client leaves a server without an answer only if that server could not answer."""
        self.verdict.counts["gave up"] += 1
        if not self.hit(op):
            self.wrong("I14", f"not answered for {(op.end - op.begin) / S:.1f} s", ops=[op])

    def check_error(self, op):
        code = op.reply.split(" ")[0]
        self.verdict.counts["errors " + code] += 1
        if self.clean and code not in HARMLESS:
            self.wrong("I14", "an error", ops=[op])

    def check_recovery(self):
        good = sorted(op.end for op in self.history.ops.values()
                      if op.kind == "o" and (op.verb == "a" or op.verb in "kn"))
        self.verdict.longest_stall = max((b - a for a, b in zip(good, good[1:]) if b < self.load_end), default=0)
        for i, fault in enumerate(self.faults):
            following = self.faults[i + 1]["begin"] if i + 1 < len(self.faults) else FOREVER
            at = bisect.bisect(good, fault["end"])
            took = (good[at] if at < len(good) else FOREVER) - fault["end"]
            if took > FIRST_SUCCESS * self.slow and fault["end"] + FIRST_SUCCESS < following and good:
                self.wrong("I14", f"after {fault['name']} nothing succeeded for {min(took, 999 * S) / S:.1f} s")
        for fault in self.faults if self.servers > 1 else ():
            if fault["server"] is not None:
                self.check_others(fault)

    def check_others(self, fault):
        """A fault of a server does not stop the clients of other servers."""
        begin, end = fault["begin"], fault["end"]
        asked = [op for op in self.history.ops.values() if op.verb in "akn" and op.begin < end and op.end > begin and
                 self.history.servers[op.conn] != fault["server"]]
        good = sorted([begin, end, *(op.end for op in asked if op.kind == "o" and op.end < end)])
        stall = max((b - max(a, min(op.begin for op in asked if op.end > a))
                     for a, b in zip(good, good[1:]) if b - a > S and any(op.end > a for op in asked)), default=0)
        self.verdict.stall_of_others = max(self.verdict.stall_of_others, stall)
        if stall > FIRST_SUCCESS * self.slow:
            self.wrong("I14", f"during {fault['name']} at server {fault['server']} nothing succeeded at the others"
                              f" for {stall / S:.1f} s")

    def count(self):
        counts = self.verdict.counts
        counts["operations"] = len(self.history.ops)
        counts["deliveries"] = sum(len(job.deliveries) for job in self.jobs)
        counts["jobs checked"] = len(self.history.jobs)


def clock_steps(faults):
    """By how much the database's clock may be off at most, in microseconds."""
    return int(2 * S * sum(abs(f["args"]["seconds"]) for f in faults if f["args"].get("whose") == "postgres"))
