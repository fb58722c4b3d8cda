"""bench/soak --shapes: the load of each feature, beside a held snapshot and without one in turn.

A shape runs on two servers. An old transaction holds back vacuum in the database of the first. The second is the
control: its figures say how much the machine has changed.
"""

import contextlib
import itertools
import os
import tempfile
import threading
import time
from collections import namedtuple

import soak_report as report
from lib.base import Failure, free_port, percentile
from lib.workflows import pipelined
from soak_sample import Sampler
from soak_server import Peer, Psql, Server, connect

AT_ONCE = 10
KEYS = 20
SCHEDULES = 50
# A round of a worker that gets nothing ends after this time.
WAIT_MS = 1000
QUEUE = "shape"
HELD, CONTROL = "held", "control"


def take(client, count=AT_ONCE, queue=QUEUE):
    """The IDs of jobs; none if another worker has taken them."""
    jobs = client("GETJOB", "TIMEOUT", WAIT_MS, "COUNT", count, "FROM", queue) or []
    return [job[1] for job in jobs]


def take_end(client, count, *ending, at_once=AT_ONCE):
    """Takes jobs and ends them, until there are so many or none came in time. So no backlog grows. Their number."""
    ended = 0
    while ended < count:
        taken = take(client, min(at_once, count - ended))
        if not taken:
            break
        client(*(ending or ("ACKJOB",)), *taken)
        ended += len(taken)
    return ended


def add_take_end(clients, jobs, *ending):
    """Adds jobs with their options, takes as many, and ends them. The number of ended jobs."""
    pipelined(clients[0], [("ADDJOB", QUEUE, "x" * 100, 0, "RETRY", 600, *options) for options in jobs])
    return take_end(clients[-1], len(jobs), *ending)


def plain(clients, _worker, _number):
    return add_take_end(clients, [()] * AT_ONCE)


def singles(clients, _worker, _number):
    """Takes the jobs one by one, so that the server claims jobs ahead."""
    client = clients[0]
    pipelined(client, [("ADDJOB", QUEUE, "x" * 100, 0, "RETRY", 600)] * AT_ONCE)
    return take_end(client, AT_ONCE, at_once=1)


def groups(clients, worker, number):
    """Few keys that are used again and again by all workers."""
    return add_take_end(clients, [("GROUP", f"g{(worker + number * AT_ONCE + i) % KEYS}") for i in range(AT_ONCE)])


def unique(clients, worker, number):
    return add_take_end(clients, [("UNIQUE", f"{worker} {(number * AT_ONCE + i) % KEYS}") for i in range(AT_ONCE)])


def unique_for(clients, worker, number):
    """Keys that stay taken for a second. Each key is used once."""
    return add_take_end(clients, [("UNIQUE", f"{worker} {number} {i}", "FOR", 1) for i in range(AT_ONCE)])


def retention(clients, _worker, _number):
    return add_take_end(clients, [()] * AT_ONCE, "ACKJOB", "RESULT", "y" * 100)


def lists(clients, worker, _number):
    """A list as a queue, a list as a stack, and a move."""
    client, key, stack = clients[0], "list", f"stack {worker}"
    pipelined(client, [("LPUSH", key, *["x" * 100] * AT_ONCE), ("LPUSH", stack, *["x" * 100] * AT_ONCE)])
    calls = [("RPOP", key)] * AT_ONCE + [("LPOP", stack)] * (AT_ONCE // 2) + [("LMOVE", stack, key, "LEFT", "LEFT")]
    calls += [("RPOP", stack)] * (AT_ONCE // 2 - 1) + [("RPOP", key)]
    return sum(reply is not None for reply in pipelined(client, calls))


def workflows(clients, _worker, _number):
    """Pairs of jobs: the second waits for the first. All belong to a batch."""
    client = clients[0]
    batch = client("BATCH", "NEW", QUEUE, "COMPLETE", "all")
    first = pipelined(client, [("ADDJOB", QUEUE, "x", 0, "RETRY", 600, "BATCH", batch)] * (AT_ONCE // 2))
    pipelined(client, [("ADDJOB", QUEUE, "x", 0, "RETRY", 600, "AFTER", job, "BATCH", batch) for job in first])
    client("BATCH", "CLOSE", batch)
    # With the completion job. Other workers may take them, and this one theirs.
    return take_end(client, AT_ONCE + 1)


def schedules(clients, _worker, _number):
    """Jobs of schedules, beside plain jobs of another queue."""
    taken = pipelined(clients[0], [("GETJOB", "NOHANG", "COUNT", SCHEDULES, "FROM", "ticks")])[0] or []
    return add_take_end(clients, [()] * AT_ONCE) + (clients[0]("ACKJOB", *(job[1] for job in taken)) if taken else 0)


# before: commands before the first round; servers: of the database; run: a round of a worker.
Shape = namedtuple("Shape", "run before servers", defaults=((), 1))

SHAPES = {
    "plain": Shape(plain),
    "ahead": Shape(singles),
    "groups": Shape(groups),
    "group-limits": Shape(groups, (("QCONFIG", QUEUE, "SET", "group-max-active", 3, "group-rate", 100_000),)),
    "max-active": Shape(plain, (("QCONFIG", QUEUE, "SET", "max-active", 50),)),
    "rate": Shape(plain, (("QCONFIG", QUEUE, "SET", "rate", 1_000_000),)),
    "unique": Shape(unique),
    "unique-for": Shape(unique_for),
    "schedules": Shape(schedules, [("SCHEDULE", f"s{i}", "@every 1s", "ticks", "tick") for i in range(SCHEDULES)]),
    "retention": Shape(retention, (("QCONFIG", QUEUE, "SET", "retention", 60),)),
    "lists": Shape(lists),
    "workflows": Shape(workflows),
    "servers": Shape(plain, servers=2),
}


def shapes_named(text):
    """The names of --shapes, which are separated by commas."""
    names = list(SHAPES) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in SHAPES]
    if unknown:
        raise Failure(f"no such shape: {', '.join(unknown)}; the shapes are {', '.join(SHAPES)}")
    return names


class Worker(threading.Thread):
    """Runs rounds until a time, and takes the time of each."""

    def __init__(self, place, shape, number):
        super().__init__(daemon=True)
        self.place, self.shape, self.number = place, shape, number
        self.jobs, self.times, self.reason = 0, [], None

    def run(self):
        try:
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(connect(port)) for port in self.place.ports]
                while time.monotonic() < self.place.end:
                    start = time.monotonic()
                    self.jobs += self.shape.run(clients, self.number, next(self.place.rounds[self.number]))
                    self.times.append((time.monotonic() - start) * 1000)
        except (OSError, Failure) as reason:
            self.reason = reason


class Place:
    """A database with its servers, where a shape runs."""

    def __init__(self, args, stack, shape, is_held):
        base = stack.enter_context(tempfile.TemporaryDirectory(prefix="pgdisque-soak-", dir=args.dir))
        # Postgres runs as another user when we are root, and must get through to its directory.
        os.chmod(base, 0o755)
        self.shape, self.end = shape, 0
        self.rounds = [itertools.count() for _ in range(args.workers)]
        server = Server(args.pgdisque, base)
        stack.callback(server.stop)
        server.start()
        self.ports = [server.port]
        for _ in range(1, shape.servers):
            self.ports.append(self.add_peer(stack, server, base))
        self.psql = Psql(server.postgres_dir)
        stack.callback(self.psql.close)
        self.psql.run("soak_statistics")
        self.sampler = Sampler(server, self.psql, base)
        with connect(server.port) as client:
            pipelined(client, shape.before)
        if is_held:
            self.hold(stack, server, args.backup)

    @staticmethod
    def add_peer(stack, server, base):
        peer = Peer(server, os.path.join(base, "peer"), free_port())
        stack.callback(peer.stop)
        peer.start()
        return peer.port

    def hold(self, stack, server, is_backup):
        """The first rounds run before, so that all tables of the shape have rows."""
        self.measure(2)
        self.psql.run("soak_setup", pages=10)
        holder = Psql(server.postgres_dir)
        stack.callback(holder.close)
        holder.run("soak_snapshot")
        if is_backup:
            holder.run("soak_backup")

    def measure(self, seconds):
        """Jobs a second, and the time of rounds."""
        start = time.monotonic()
        self.end = start + seconds
        workers = [Worker(self, self.shape, number) for number in range(len(self.rounds))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for worker in workers:
            if worker.reason:
                raise Failure(f"a client of the shape: {worker.reason}")
        times = list(itertools.chain(*(worker.times for worker in workers)))
        return {"through_per_s": sum(worker.jobs for worker in workers) / (time.monotonic() - start),
                "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99)}


def interval(args, places, number, samples):
    """Half of the time for each place. The order alternates."""
    figures = {"minute": number}
    for name in (HELD, CONTROL) if number % 2 else (CONTROL, HELD):
        place = places[name]
        figures.update({f"{name}_{key}": value for key, value in place.measure(args.minute / 2).items()})
        if name == HELD:
            figures.update(place.sampler.tables(), **place.sampler.statements())
        else:
            place.sampler.statements()
    figures["ratio"] = figures["held_through_per_s"] / max(figures["control_through_per_s"], 1)
    figures["p99_ratio"] = figures["held_p99_ms"] / max(figures["control_p99_ms"], 0.001)
    figures["worst_blocks"] = report.worst_blocks(figures, samples[0] if samples else figures)
    samples.append(figures)
    return figures


def run_shape(args, name, say):
    """Prints a line for each interval. Yields verdicts."""
    samples = []
    with contextlib.ExitStack() as stack:
        places = {place: Place(args, stack, SHAPES[name], place == HELD) for place in (HELD, CONTROL)}
        for place in places.values():
            place.measure(2)
            place.sampler.statements()
        say(report.shape_head())
        for number in range(1, args.minutes + 1):
            say(report.shape_line(name, interval(args, places, number, samples)))
    report.write_csv(os.path.join(args.results, f"soak-{name}.csv"), samples)
    yield report.flat_ratio(samples)
    yield from report.grown_blocks(samples)


def soak_shapes(args, say):
    """The number of verdicts that do not hold."""
    os.makedirs(args.results, exist_ok=True)
    failed = 0
    for name in shapes_named(args.shapes):
        for holds, text in run_shape(args, name, say):
            failed += not holds
            say(f"{'ok  ' if holds else 'FAIL'}  {name}: {text}")
    return failed
