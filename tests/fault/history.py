"""Reads the history of the clients: an Op per command, a Job per ADDJOB."""

import base64
import hashlib

FOREVER = 1 << 62

WORDS = {"k": "ACKJOB", "f": "FASTACK", "d": "DELJOB", "n": "NACK", "e": "ENQUEUE", "w": "WORKING", "x": "DEQUEUE",
         "a": "ADDJOB", "g": "GETJOB", "c": "CANCEL"}
# Queues of a single purpose, after the six ordinary queues: workload.h.
ORDERED, FULL, KEYS, POISON, GROUPS, LIMITED, DEADQUEUE, KEPT, FLOWS, REPLACED, STARTS, SKIPPED, RENEWED = range(6, 19)
SCHEDULED = SKIPPED, RENEWED
ACKS, REQUEUES, POSTPONES = "kfdc", "ne", "wx"


_secret = b""


def set_secret(secret):
    """Of the database, for internal_id()."""
    global _secret
    _secret = secret


def internal_id(job_id):
    """The id of the row: the second half of the block in the ID, deciphered as doc/decisions/0005-job-ids.md says."""
    block = base64.b64decode(job_id[11:35])
    outside = (job_id[2:10] + job_id[36:40]).encode()
    mask = hashlib.sha256(_secret + b"\1" + outside + block[:9]).digest()
    return int.from_bytes(bytes(a ^ b for a, b in zip(block[9:17], mask)), "big", signed=True)


class Op:
    """A command. kind: o ok, f failed without effect, u unknown; end is the time when the kind was known."""

    __slots__ = ("number", "conn", "verb", "begin", "end", "kind", "reply", "ids", "args")

    def __init__(self, number, conn, verb, begin):
        self.number, self.conn, self.verb, self.begin = number, conn, verb, begin
        self.end, self.kind, self.reply = FOREVER, "u", "never ended"
        self.ids, self.args = (), ()

    def done_by(self):
        """A server that stood still may execute a command later, when its client does not wait any more."""
        return FOREVER if self.reply == "gave up" else self.end

    def count(self):
        """The integer it replied, or None."""
        return int(self.reply) if self.kind == "o" and self.reply.lstrip("-").isdigit() else None

    def __str__(self):
        what = " ".join(self.ids) if self.ids else " ".join(map(str, self.args))
        took = "" if self.end == FOREVER else f" +{(self.end - self.begin) / 1e3:.1f} ms"
        return f"{self.begin / 1e6:.6f}{took} [{self.conn}] {WORDS[self.verb]} {what} -> {self.kind} {self.reply[:200]}"


class Delivery:
    __slots__ = ("op", "queue", "id", "token", "nacks", "additional_deliveries")

    def __init__(self, op, text):
        queue, self.id, token, *counters = text.split(":")
        self.op, self.queue, self.token = op, int(queue), int(token)
        self.nacks, self.additional_deliveries = (int(counters[0]), int(counters[1])) if counters else (None, None)


class Job:
    """An ADDJOB, and all that was done about its job. Times in microseconds."""

    def __init__(self, op):
        self.op = op
        self.token, self.queue, self.retry, self.delay, self.ttl, self.timeout, self.maxlen, *unique = op.args
        key, self.key_s, self.attempts, self.group, self.deadqueue = [*unique, 0, 0, 0, 0, 0][:5]
        self.after = unique[5:]  # tokens of the jobs for which it waits
        self.key = key or None
        self.holder = None  # with a key: the job whose ID was replied
        self.retry_us, self.delay_us = self.retry * 1000000, self.delay * 1000000
        self.ttl_us = self.ttl * 1000000 or FOREVER
        self.ids = set()
        self.deliveries, self.acks, self.requeues, self.postpones = [], [], [], []
        self.told = []  # ADDJOBs, of this job's key, that replied its ID

    def ops(self):
        seen = {id(op): op for op in [self.op, *(d.op for d in self.deliveries), *self.acks, *self.requeues,
                                      *self.postpones]}
        return sorted(seen.values(), key=lambda op: op.begin)


class ScheduledJob(Job):
    """The job of a tick, known by its ID. All ticks have the same body."""

    def __init__(self, delivery):
        add = Op(0, 0, "a", 0)
        add.kind, add.reply, add.args = "o", delivery.id, (-1, delivery.queue, 1, 0, 0, 0, 0)
        super().__init__(add)


class History:
    def __init__(self, path):
        self.ops = {}
        self.scheduled = {}    # jobs of ticks, by ID
        self.servers = {}      # by connection: the number of its server
        self.jobs = {}         # by token
        self.strangers = []    # deliveries of bodies that no client made
        self.transactions = [] # pairs of Ops: an ACKJOB, and the ADDJOB that was to be done with it or not at all
        self.unknown_ids = []  # commands on IDs that no delivery brought: there should be none
        self.pairs = []
        with open(path, errors="replace") as lines:
            for line in lines:
                self.read(line)
        self.transactions = [(self.ops[a], self.ops[b]) for a, b in self.pairs]
        self.connect()

    def read(self, line):
        words = line.rstrip("\n").split(" ")
        kind, at, number = words[0], int(words[1]), int(words[2])
        if kind == "s":
            self.servers[number] = int(words[3])
            return
        if kind == "t":
            self.pairs.append((number, int(words[3])))
            return
        if kind == "i":
            self.ops[number] = self.invocation(Op(number, int(words[3]), words[4], at), words[5:])
            return
        op = self.ops[number]
        op.end, op.kind, op.reply = at, kind, " ".join(words[3:])

    def invocation(self, op, words):
        if op.verb == "a":
            op.args = tuple(int(w) for w in words)
            self.jobs[op.args[0]] = Job(op)
        elif op.verb == "g":
            op.args = (int(words[0]), int(words[1]), frozenset(int(q) for q in words[2].split(",")))
        else:
            op.ids = tuple(words)
        return op

    def connect(self):
        """Ties deliveries and commands on IDs to the jobs."""
        by_id = self.by_id = {}
        self.find_first()
        for op in self.ops.values():
            if op.verb == "a" and op.kind == "o" and self.jobs[op.args[0]].key is None:
                self.meet(by_id, op.reply, self.jobs[op.args[0]])
        for op in self.ops.values():
            if op.verb == "g" and op.kind == "o":
                for text in op.reply.split():
                    self.deliver(by_id, Delivery(op, text))
        for job in self.jobs.values():
            if job.key is not None and job.op.kind == "o":
                self.find_holder(by_id, job)
        for op in self.ops.values():
            for job_id in op.ids:
                self.act(by_id, op, job_id)
        for job in [*self.jobs.values(), *self.scheduled.values()]:
            job.deliveries.sort(key=lambda d: d.op.end)

    def find_first(self):
        """With REPLACE: the Job of the first ADDJOB that replied an ID, or of an earlier one without a reply whose body came."""
        first = self.first = {}
        for op in sorted(self.ops.values(), key=lambda op: op.end):
            if op.verb == "a" and op.kind == "o" and self.jobs[op.args[0]].queue == REPLACED:
                first.setdefault(op.reply, self.jobs[op.args[0]])
        for op in self.ops.values():
            for text in op.reply.split() if op.verb == "g" and op.kind == "o" else ():
                d = Delivery(op, text)
                job = self.jobs.get(d.token)
                if d.id in first and job is not None and job.op.begin < first[d.id].op.begin:
                    first[d.id] = job

    @staticmethod
    def meet(by_id, job_id, job):
        job.ids.add(job_id)
        by_id.setdefault(job_id, job)

    def find_holder(self, by_id, job):
        """An ID that no delivery brought is taken for that of the job itself, which did not come."""
        if job.op.reply not in by_id:
            self.meet(by_id, job.op.reply, job)
        job.holder = by_id[job.op.reply]
        job.holder.told.append(job.op)

    def deliver(self, by_id, delivery):
        job = self.jobs.get(delivery.token)
        if delivery.queue in SCHEDULED and job is None:
            job = self.scheduled.setdefault(delivery.id, ScheduledJob(delivery))
        if job is None:
            self.strangers.append(delivery)
            return
        if job.queue == REPLACED:
            # Whatever its body is now.
            job = self.first.get(delivery.id, job)
        self.meet(by_id, delivery.id, job)
        job.deliveries.append(delivery)

    def act(self, by_id, op, job_id):
        job = by_id.get(job_id)
        if job is None:
            self.unknown_ids.append(op)
        elif op.verb in ACKS:
            job.acks.append(op)
        elif op.verb in REQUEUES:
            job.requeues.append(op)
        else:
            job.postpones.append(op)
