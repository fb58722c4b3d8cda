"""(j): queues that use no feature, while other queues of the server use one."""

import contextlib
import threading
import time
from collections import namedtuple

from lib.base import Failure
from lib.shapes import OVERHEAD, STRICT, Step
from lib.starters import start_fresh

QUEUE = "beside"
# Jobs that stay in that queue, and cycles a second of the client that uses it: add a job, take a job, acknowledge it.
STANDING = 1000
PACE = 10
SCHEDULES = 20
PLAIN, AGAIN = "nothing", "nothing, again"

# before and after: commands around a measurement; options: of the n-th ADDJOB; source: the arguments of GETJOB.
Use = namedtuple("Use", "before after options source", defaults=((), (), lambda n: (), QUEUE))

USES = {
    PLAIN: Use(),
    AGAIN: Use(),
    "PRIORITY": Use(options=lambda n: ("PRIORITY", n % 256)),
    "UNIQUE": Use(options=lambda n: ("UNIQUE", f"key {n}", "FOR", 60)),
    "ATTEMPTS": Use(options=lambda n: ("ATTEMPTS", 3, "BACKOFF", 1)),
    "defaults": Use(before=(("QCONFIG", QUEUE, "SET", "retry", 60, "ttl", 3600, "maxlen", 100_000),)),
    "limits": Use(before=(("QCONFIG", QUEUE, "SET", "max-active", 100, "rate", 1000),)),
    "retention": Use(before=(("QCONFIG", QUEUE, "SET", "retention", 60),)),
    "schedules": Use(before=[("SCHEDULE", f"s{i}", "@every 1s", QUEUE, "tick") for i in range(SCHEDULES)],
                     after=[("UNSCHEDULE", f"s{i}") for i in range(SCHEDULES)]),
    "patterns": Use(source="bes*"),
}


class User(threading.Thread):
    """A client that uses the feature as long as a measurement takes."""

    def __init__(self, target, use):
        super().__init__(daemon=True)
        self.client, self.use = target.client(), use
        self.over = threading.Event()
        self.reason, self.cycles = None, 0

    def add(self, number):
        self.client("ADDJOB", QUEUE, f"job {number}", 0, *self.use.options(number))

    def prepare(self):
        for words in self.use.before:
            self.client(*words)
        for number in range(STANDING - self.client("QLEN", QUEUE)):
            self.add(-number)

    def cycle(self):
        self.add(time.monotonic_ns())
        for _, job, _ in self.client("GETJOB", "NOHANG", "FROM", self.use.source) or []:
            self.client("ACKJOB", job)
        self.cycles += 1

    def run(self):
        try:
            while not self.over.wait(1 / PACE):
                self.cycle()
        except (Failure, OSError) as reason:
            self.reason = reason

    def leave(self):
        self.over.set()
        self.join()
        for words in () if self.reason else self.use.after:
            self.client(*words)
        self.client.socket.close()
        if self.reason or not self.cycles:
            raise Failure(f"the client beside the load: {self.reason or 'did nothing'}")


@contextlib.contextmanager
def user_of(target, use):
    user = User(target, use)
    user.prepare()
    user.start()
    try:
        yield
    finally:
        user.leave()


class Servers:
    """A server for each use, so that other uses leave no rows in it. They stay for all rounds."""

    def __init__(self, bench):
        self.bench, self.targets = bench, {}

    def target(self, name):
        if name not in self.targets:
            self.targets[name] = start_fresh(self.bench, "pgdisque")
        return self.targets[name]

    def stop(self, name):
        self.targets.pop(name).server.stop()


def beside(bench, servers, name, last):
    scale = bench.scale
    target = servers.target(name)
    try:
        with user_of(target, USES[name]):
            yield name, target.load(bench.new_queue(), **STRICT, seconds=scale.beside_seconds, warmup=scale.warmup,
                                    body=100)
    finally:
        if last:
            servers.stop(name)


def beside_steps(bench):
    """Each round begins with another of them."""
    scale = bench.scale
    if "pgdisque" not in bench.targets:
        return
    servers, names = Servers(bench), list(USES)
    for number in range(scale.beside_rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            yield Step("j", "pgdisque", number + 1,
                       scale.beside_seconds * 1.2 + scale.warmup + OVERHEAD + (2 if number == 0 else 0),
                       lambda name=name, last=number + 1 == scale.beside_rounds: beside(bench, servers, name, last))
