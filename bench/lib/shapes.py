"""The shapes that are measured round by round, and the sizes of quick and full mode."""

from collections import namedtuple
from dataclasses import dataclass, replace

from lib.targets import NodeTarget, RespTarget

# letter, load generator's settings, title
STRICT = {"producers": 16, "consumers": 64}
HALVES = {"producers": 50, "consumers": 50}
SHAPES = {
    "a": STRICT,
    "b": HALVES,
    "c": {"producers": 8, "pipeline": 32, "consumers": 8, "count": 32, "overlap": True},
    "e": {"producers": 1, "consumers": 1, "window": 1},
    "l": {**HALVES, "overlap": True},
}
# The shapes whose result is a throughput, in the order of their tables.
THROUGHPUT = "ablc"
TITLES = {
    "a": "(a) strict 16+64",
    "b": "(b) strict 50+50",
    "c": "(c) pipelined 8x32",
    "d": "(d) fill, then drain",
    "e": "(e) latency 1+1",
    "f": "(f) idle waiters",
    "g": "(g) backlog",
    "h": "(h) old snapshot",
    "i": "(i) body sizes",
    "j": "(j) beside features",
    "k": "(k) workflows",
    "l": "(l) as (b), one write",
    "own": "own fastest mode",
    "floor": "floor",
}
BODIES = {"100 B": 100, "4 KB": 4 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20}
# Libraries with single calls for adds, as strict clients have them.
ONE_BY_ONE = "one job a call"
FILL = {"producers": 8, "pipeline": 64, "fill": True}
DRAIN = {"consumers": 8, "count": 32, "overlap": True, "drain": True}

# shape and variant are the name of a measurement; run() yields (variant, figures).
Step = namedtuple("Step", "shape target round seconds run")


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    name: str
    rounds: int
    seconds: float
    warmup: float
    own_seconds: float
    floor_seconds: float
    body_rounds: int
    body_seconds: float
    deep: int
    depth_rounds: int
    depth_gets: int
    waiters: int
    waiter_rounds: int
    snapshot: int
    no_snapshot: int
    window: int
    sql_snapshot: int
    beside_rounds: int
    beside_seconds: float
    workflow: int
    batch: int
    workflow_rounds: int


QUICK = Scale(
    "quick", rounds=3, seconds=1.0, warmup=0.3, own_seconds=1.0, floor_seconds=0.15,
    body_rounds=1, body_seconds=0.7, deep=100_000, depth_rounds=3, depth_gets=500,
    waiters=2_000, waiter_rounds=2, snapshot=20, no_snapshot=8, window=4, sql_snapshot=0,
    beside_rounds=2, beside_seconds=0.7, workflow=1_000, batch=10_000, workflow_rounds=1)
FULL = Scale(
    "full", rounds=5, seconds=5.0, warmup=1.0, own_seconds=5.0, floor_seconds=1.0,
    body_rounds=3, body_seconds=4.0, deep=1_000_000, depth_rounds=5, depth_gets=4_000,
    waiters=10_000, waiter_rounds=5, snapshot=600, no_snapshot=180, window=60, sql_snapshot=180,
    beside_rounds=10, beside_seconds=3.0, workflow=1_000, batch=100_000, workflow_rounds=3)
# Seconds that a run of the load generator, or of a library, takes on top.
OVERHEAD = 0.5
NODE_OVERHEAD = 1.5


def scale_of(args):
    scale = FULL if args.full else QUICK
    given = {"rounds": args.rounds, "seconds": args.seconds}
    return replace(scale, **{name: value for name, value in given.items() if value is not None})


def resp(bench, shape):
    return [target for target in bench.targets.values() if isinstance(target, RespTarget) and shape in target.shapes]


def nodes(bench):
    return [target for target in bench.targets.values() if isinstance(target, NodeTarget)]


def one_load(bench, target, settings, **more):
    """A run of the load generator on a queue of its own."""
    def run():
        yield "", target.load(bench.new_queue(), **settings, **more)
    return run


def one_call(measure, *args, **settings):
    def run():
        yield "", measure(*args, **settings)
    return run


def throughput_steps(bench, shape, number):
    scale = bench.scale
    for target in resp(bench, shape):
        yield Step(shape, target.name, number, scale.seconds * 1.2 + scale.warmup + OVERHEAD,
                   one_load(bench, target, SHAPES[shape], seconds=scale.seconds, warmup=scale.warmup, body=100))


def latency_steps(bench, number):
    scale = bench.scale
    yield from throughput_steps(bench, "e", number)
    for target in nodes(bench):
        yield Step("e", target.name, number, scale.seconds + scale.warmup + NODE_OVERHEAD,
                   one_call(target.measure, "latency", seconds=scale.seconds, warmup=scale.warmup, body=100))


def one_by_one(scale, target):
    """Adds a job a call, as strict clients do. The workers stay as fast as possible."""
    yield ONE_BY_ONE, target.measure("stream", seconds=scale.own_seconds, warmup=scale.warmup, body=100,
                                     batch=1, producers=STRICT["producers"])


def own_steps(bench, number):
    """Systems that the load generator cannot drive, each as fast as possible."""
    scale = bench.scale
    if "sql" in bench.targets:
        target = bench.targets["sql"]
        yield Step("own", "sql", number, scale.own_seconds + 1, one_call(target.measure, scale.own_seconds))
    for target in nodes(bench):
        seconds = scale.own_seconds + scale.warmup + NODE_OVERHEAD
        yield Step("own", target.name, number, seconds,
                   one_call(target.stream, scale.own_seconds, scale.warmup, 100))
        if number <= scale.body_rounds:
            yield Step("own", target.name, number, seconds, lambda target=target: one_by_one(scale, target))


def floor_steps(bench, number):
    if "floor" in bench.targets:
        seconds = bench.scale.floor_seconds
        yield Step("floor", "floor", number, seconds * 13.5 + 0.5,
                   lambda: bench.targets["floor"].measure(seconds, 100))


def body_run(bench, target, name):
    seconds, warmup, body = bench.scale.body_seconds, bench.scale.warmup, BODIES[name]
    if isinstance(target, NodeTarget):
        yield name, target.stream(seconds, warmup, body)
    else:
        yield name, target.load(bench.new_queue(), **STRICT, seconds=seconds, warmup=warmup, body=body)


def body_steps(bench):
    scale = bench.scale
    for number in range(1, scale.body_rounds + 1):
        for name in BODIES:
            for target in resp(bench, "i") + nodes(bench):
                more = NODE_OVERHEAD if isinstance(target, NodeTarget) else OVERHEAD
                yield Step("i", target.name, number, scale.body_seconds * 1.3 + scale.warmup + more,
                           lambda target=target, name=name: body_run(bench, target, name))


# Jobs a second that are filled or drained, roughly, for the time left.
PACE = {"pgdisque": 70_000, "redis-list": 150_000, "redis-stream": 120_000, "beanstalkd": 6_000,
        "graphile": 35_000, "pgboss": 35_000}


def depth_of(bench, target):
    """beanstalkd flushes for each job by itself: a fifth of the jobs, or it takes longer than all the others."""
    return bench.scale.deep // (5 if target.name == "beanstalkd" else 1)


def fill_and_drain(bench, target):
    jobs = depth_of(bench, target)
    if isinstance(target, NodeTarget):
        result = target.measure("deep", jobs=jobs, batch=1000)
        yield "fill", {"per_s": result["add_per_s"]}
        yield "drain", {"per_s": result["through_per_s"]}
        return
    queue = bench.new_queue()
    filled = target.load(queue, **FILL, jobs=jobs, body=100)
    yield "fill", {**filled, "per_s": filled["add_per_s"]}
    drained = target.load(queue, **DRAIN, jobs=jobs, body=100)
    yield "drain", {**drained, "per_s": drained["through_per_s"]}


def depth_steps(bench):
    for target in resp(bench, "d") + nodes(bench):
        # Our own is filled and drained around the measurements of the backlog.
        if target.name != "pgdisque":
            yield Step("d", target.name, 1, depth_of(bench, target) / PACE[target.name] * 2 + 1,
                       lambda target=target: fill_and_drain(bench, target))


def round_steps(bench):
    """Round by round, so that changes of the machine affect all systems."""
    for number in range(1, bench.scale.rounds + 1):
        for shape in THROUGHPUT:
            if bench.wants(shape):
                yield from throughput_steps(bench, shape, number)
        if bench.wants(THROUGHPUT):
            yield from own_steps(bench, number)
        if bench.wants("e"):
            yield from latency_steps(bench, number)
        if bench.wants("ce"):
            yield from floor_steps(bench, number)
