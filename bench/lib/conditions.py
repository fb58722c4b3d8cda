"""The shapes that need more than a load: many waiters (f), deep queues (d) (g), an old snapshot (h)."""

import contextlib
import json
import subprocess

from lib.base import Failure, WrongJobs, percentile, wait_until
from lib.processes import OpenTransaction, memory_of
from lib.shapes import DRAIN, FILL, OVERHEAD, PACE, STRICT, Step
from lib.starters import start_fresh
from lib.targets import PgdisqueTarget

# ---- (f): waiters ----

PROBES = 10
NOBODY = "0 waiting"


class Crowd:
    """A load generator whose connections wait on queues without producers."""

    def __init__(self, target, count, queue):
        self.target, self.count = target, count
        command = target.load_command("unused", **{"producers": 0, "consumers": 0, "idle-waiters": count,
                                                   "idle-queue": queue, "seconds": 100000})
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(self.all_wait, f"{count} clients wait at {target.name}", 60)
        except Failure:
            self.process.kill()
            raise

    def all_wait(self):
        with self.target.client() as client:
            return client.info("clients")["blocked_clients"] >= self.count

    def leave(self):
        """How many replies its clients got."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=60)
        if self.process.returncode != 0:
            raise Failure(f"the idle clients: {err}")
        result = json.loads(out)
        with self.target.client() as client:
            wait_until(lambda: client.info("clients")["blocked_clients"] == 0, "the idle clients go", 30)
        return result["idle_replies"]


@contextlib.contextmanager
def crowd(target, count, queue):
    there = Crowd(target, count, queue)
    try:
        yield there
    finally:
        if there.process.poll() is None:
            there.process.kill()
            there.process.wait()


def probe(client, queue, waiting):
    """Adds a job for which many clients wait. Returns the number of deliveries and of claims."""
    before = client.info("pgdisque")
    job = client("ADDJOB", queue, "probe", 0)

    def settled():
        info = client.info("pgdisque", "clients")
        return info["jobs_delivered"] > before["jobs_delivered"] and info["blocked_clients"] >= waiting
    wait_until(settled, "the job is delivered and its client waits again", 20, 0.005)
    after = client.info("pgdisque")
    if client("ACKJOB", job) != 1:
        raise Failure("the job that woke a waiter is gone")
    return after["jobs_delivered"] - before["jobs_delivered"], after["claims"] - before["claims"]


def probes(target, there, queues):
    with target.client() as client:
        found = [probe(client, queues[i % len(queues)], there.count) for i in range(PROBES)]
    wakes, claims = zip(*found)
    return {"wakes_per_job": max(wakes), "claims_per_job": max(claims)}


def variants(scale):
    many = f"{scale.waiters:,}"
    return [(NOBODY, None, []),
            (f"{many} waiting on one queue", "idle", ["idle"]),
            (f"{many} waiting on {many} queues", "idle-%d", [f"idle-{i}" for i in (0, scale.waiters // 2)])]


def beside_crowd(bench, target, idle_queue, queues):
    scale = bench.scale
    load = {**STRICT, "seconds": scale.seconds, "warmup": scale.warmup, "body": 100}
    if idle_queue is None:
        return target.load(bench.new_queue(), **load)
    with crowd(target, scale.waiters, idle_queue) as there:
        result = target.load(bench.new_queue(), **load)
        expected = 0
        if isinstance(target, PgdisqueTarget):
            result.update(probes(target, there, queues))
            expected = PROBES
        woken = there.leave()
        if woken != expected:
            raise Failure(f"{expected} jobs woke {woken} of the waiting clients")
    return result


def memory_run(bench, name, variant):
    """Bytes for each waiter, in a server that has no memory left over from anything else."""
    title, idle_queue, _ = variant
    target = start_fresh(bench, name)
    try:
        before = memory_of(target.server.pid)
        with crowd(target, bench.scale.waiters, idle_queue) as there:
            yield title, {"bytes_per_waiter": (memory_of(target.server.pid) - before) / there.count}
            there.leave()
    finally:
        target.server.stop()


def waiter_run(bench, target, variant):
    name, idle_queue, queues = variant
    yield name, beside_crowd(bench, target, idle_queue, queues)


def waiter_steps(bench):
    scale = bench.scale
    targets = [bench.targets[name] for name in ("pgdisque", "redis-list") if name in bench.targets]
    for target in targets:
        for variant in variants(scale)[1:]:
            yield Step("f", target.name, 1, 3 + scale.waiters / 4000,
                       lambda name=target.name, variant=variant: memory_run(bench, name, variant))
    for number in range(1, scale.waiter_rounds + 1):
        for target in targets:
            for variant in variants(scale):
                seconds = scale.seconds + scale.warmup + OVERHEAD
                if variant[1]:
                    seconds += scale.waiters / 4000
                yield Step("f", target.name, number, seconds,
                           lambda target=target, variant=variant: waiter_run(bench, target, variant))


# ---- (d), (g): deep queues ----

PAGE_CALLS = 200
ONE_BY_ONE = {"consumers": 1, "drain": True}
# Less than the TTL that jobs have by default, which the server insists on.
DELAY = 43200


def depths(scale, big):
    yield scale.deep
    if big:
        yield 10_000_000


def label(jobs):
    return f"{jobs // 1_000_000}M" if jobs >= 1_000_000 else f"{jobs // 1000}k"


def command_times(target, queue):
    """Milliseconds that commands which look at the queue take at the client."""
    commands = {
        "qlen": ("QLEN", queue),
        "qstat": ("QSTAT", queue),
        "info": ("INFO",),
        "qscan": ("QSCAN", "COUNT", 100),
        "jscan": ("JSCAN", "COUNT", 100, "QUEUE", queue),
    }
    figures = {}
    with target.client() as client:
        for name, words in commands.items():
            taken = client.times(PAGE_CALLS, *words)
            figures[f"{name}_p50_ms"] = percentile(taken, 0.5)
            figures[f"{name}_p99_ms"] = percentile(taken, 0.99)
    return figures


def settle(target):
    """Waits until the writes of the filling have ended, so that they are not measured."""
    target.database.checkpoint()


def gets(target, queue, count):
    """A consumer takes and acknowledges jobs one by one. Returns the latency of its GETJOBs."""
    result = target.load(queue, **ONE_BY_ONE, jobs=count, body=100)
    if result["acked"] != count:
        raise WrongJobs(f"{count} jobs were to be taken, {result['acked']:.0f} were acknowledged")
    return result


def on_empty(bench, target):
    """The same in a system without a backlog: a queue with just these jobs."""
    count = bench.scale.depth_gets
    settle(target)
    for _ in range(bench.scale.depth_rounds):
        queue = bench.new_queue()
        target.load(queue, **FILL, jobs=count, body=100)
        yield "empty", {**command_times(target, queue), **gets(target, queue, count)}


def check_empty(target):
    with target.client() as client:
        left = client.info("jobs")["registered_jobs"]
    if left:
        raise WrongJobs(f"{left:.0f} jobs are left where there should be none")


def on_ready(bench, target, jobs):
    """Fills, counts, takes some jobs one by one, and drains: the counts must add up."""
    count, queue = bench.scale.depth_gets, bench.new_queue()
    filled = target.load(queue, **FILL, jobs=jobs, body=100)
    yield f"fill {label(jobs)}", {**filled, "per_s": filled["add_per_s"]}
    settle(target)
    taken = 0
    for _ in range(bench.scale.depth_rounds):
        yield f"{label(jobs)} ready", {**command_times(target, queue), **gets(target, queue, count)}
        taken += count
    drained = target.load(queue, **DRAIN, jobs=jobs - taken, body=100)
    if drained["acked"] != jobs - taken:
        raise WrongJobs(f"of {jobs} jobs {taken} were taken one by one and {drained['acked']:.0f} drained")
    yield f"drain {label(jobs)}", {**drained, "per_s": drained["through_per_s"]}
    check_empty(target)


def on_delayed(bench, target, jobs):
    """As many jobs whose delay has not ended, in the queue from which others are taken."""
    count, queue = bench.scale.depth_gets, bench.new_queue()
    target.load(queue, **FILL, jobs=jobs, body=100, delay=DELAY)
    settle(target)
    for _ in range(bench.scale.depth_rounds):
        target.load(queue, **FILL, jobs=count, body=100)
        yield f"{label(jobs)} delayed", {**command_times(target, queue), **gets(target, queue, count)}
    with target.client() as client:
        left = client.info("jobs")["registered_jobs"]
        if left != jobs:
            raise WrongJobs(f"{left:.0f} of {jobs} delayed jobs are left")
        client("DEBUG", "FLUSHALL")
    check_empty(target)


def split(run):
    """Fill and drain are shape (d), the rest is (g)."""
    for variant, figures in run:
        word = variant.split()[0]
        yield (("d", word) if word in ("fill", "drain") else ("g", variant)), figures


def backlog_steps(bench):
    target = bench.targets.get("pgdisque")
    if target is None:
        return
    gets_time = bench.scale.depth_rounds * (bench.scale.depth_gets / 1500 + 1)
    yield Step("g", "pgdisque", 1, gets_time, lambda: on_empty(bench, target))
    for jobs in depths(bench.scale, bench.args.big):
        full = jobs / PACE["pgdisque"] * 2
        yield Step("g", "pgdisque", 1, full + gets_time, lambda jobs=jobs: split_deep(bench, target, jobs))
        yield Step("g", "pgdisque", 1, full * 0.6 + gets_time,
                   lambda jobs=jobs: on_delayed(bench, target, jobs))


def split_deep(bench, target, jobs):
    if jobs != bench.scale.deep:
        return on_ready(bench, target, jobs)
    return split(on_ready(bench, target, jobs))


# ---- (h): an old snapshot ----

HELD, FREE = "snapshot held", "no snapshot"


SQL_WINDOW = 20


def pgdisque_window(target, queue, seconds):
    return target.load(queue, **STRICT, seconds=seconds, warmup=0, body=100)


def sql_window(target, _queue, seconds):
    return target.measure(seconds)


def state_of(database):
    """Dead rows and size of all tables of the database."""
    query = """select coalesce(sum(n_dead_tup), 0), coalesce(sum(pg_total_relation_size(relid)), 0)
               from pg_stat_user_tables"""
    dead, size = database.ask(query).split("|")
    return {"dead_rows": float(dead), "table_bytes": float(size)}


def in_windows(bench, target, variant, seconds):
    """Yields the windows of the time, in order."""
    run, window = (sql_window, SQL_WINDOW) if target.name == "sql" else (pgdisque_window, bench.scale.window)
    queue = bench.new_queue()
    for number in range(1, max(2, round(seconds / window)) + 1):
        figures = run(target, queue, min(window, seconds))
        yield f"{variant}, window {number}", {**figures, **state_of(target.database)}


def held(bench, target, seconds):
    with OpenTransaction(target.database):
        yield from in_windows(bench, target, HELD, seconds)


def snapshot_steps(bench):
    scale = bench.scale
    times = (("pgdisque", scale.no_snapshot, scale.snapshot), ("sql", 40, scale.sql_snapshot))
    for name, free, used in times:
        target = bench.targets.get(name)
        if target is None or not used:
            continue
        yield Step("h", name, 1, free * 1.1,
                   lambda target=target, free=free: in_windows(bench, target, FREE, free))
        yield Step("h", name, 1, used * 1.1,
                   lambda target=target, used=used: held(bench, target, used))
