"""(j): queues that use no feature, while other queues of the server use one, or many pages are open."""

import contextlib
import selectors
import socket
import threading
import time
from collections import namedtuple

from lib.base import Failure, free_port
from lib.shapes import OVERHEAD, STRICT, Step
from lib.starters import start_pgdisque

QUEUE = "beside"
# Jobs that stay in that queue, and cycles a second of the client that uses it: add a job, take a job, acknowledge it.
STANDING = 1000
PACE = 10
SCHEDULES = 20
PAGES = 50
PLAIN, AGAIN = "nothing", "nothing, again"

# before and after: commands around a measurement; options: of the n-th ADDJOB; source: the arguments of GETJOB; pages:
# open pages, which show the queue of the load.
Use = namedtuple("Use", "before after options source pages", defaults=((), (), lambda n: (), QUEUE, 0))

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
    f"{PAGES} pages": Use(pages=PAGES),
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


class Pages(threading.Thread):
    """The streams of open pages: the figures of the server and of a queue each second."""

    def __init__(self, port, queue, count):
        super().__init__(daemon=True)
        self.over, self.selector, self.heard = threading.Event(), selectors.DefaultSelector(), set()
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", port))
            stream.sendall(f"GET /api/events?queue={queue} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            self.selector.register(stream, selectors.EVENT_READ)

    def run(self):
        while not self.over.is_set():
            for key, _ in self.selector.select(0.1):
                if b"event: figures" in key.fileobj.recv(65536):
                    self.heard.add(key.fileobj)

    def leave(self):
        self.over.set()
        self.join()
        streams = [key.fileobj for key in self.selector.get_map().values()]
        for stream in streams:
            stream.close()
        if len(self.heard) < len(streams):
            raise Failure(f"only {len(self.heard)} of {len(streams)} pages got figures")


@contextlib.contextmanager
def user_of(target, use, queue):
    user = User(target, use)
    user.prepare()
    users = [user, *([Pages(target.http_port, queue, use.pages)] if use.pages else [])]
    for each in users:
        each.start()
    try:
        yield
    finally:
        for each in users:
            each.leave()


class Servers:
    """A server for each use, so that other uses leave no rows in it. They stay for all rounds."""

    def __init__(self, bench):
        self.bench, self.targets = bench, {}

    def target(self, name):
        if name not in self.targets:
            port = free_port()
            self.targets[name] = start_pgdisque(self.bench, f"beside-{len(self.targets)}", ["--http-port", str(port)])
            self.targets[name].http_port = port
        return self.targets[name]

    def stop(self, name):
        self.targets.pop(name).server.stop()


def beside(bench, servers, name, last):
    scale = bench.scale
    target = servers.target(name)
    queue = bench.new_queue()
    try:
        with user_of(target, USES[name], queue):
            yield name, target.load(queue, **STRICT, seconds=scale.beside_seconds, warmup=scale.warmup,
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
