"""Every single result, the figures made of them, and whether these reach the goals."""

import csv
import re
from collections import namedtuple

from lib.base import median, ratio
from lib.beside import AGAIN, PLAIN
from lib.conditions import FREE, HELD, NOBODY
from lib.shapes import BODIES


BATCHES = (1, 10, 100, 1000)


class Results:
    """Rows of figures: a row for each measurement of a server in a variant of a shape."""

    def __init__(self):
        self.rows = []

    def add(self, shape, variant, server, figures):
        number = len(self.select(shape, variant, server)) + 1
        row = {"shape": shape, "variant": variant, "server": server, "round": number, **figures}
        self.rows.append(row)
        return row

    def select(self, shape, variant, server):
        return [row for row in self.rows
                if (row["shape"], row["variant"], row["server"]) == (shape, variant, server)]

    def variants(self, shape, server):
        """In the order in which they were measured."""
        found = (row["variant"] for row in self.rows if (row["shape"], row["server"]) == (shape, server))
        return list(dict.fromkeys(found))

    def servers(self, shape):
        return list(dict.fromkeys(row["server"] for row in self.rows if row["shape"] == shape))

    def values(self, shape, variant, server, figure):
        return [row[figure] for row in self.select(shape, variant, server) if figure in row]

    def median(self, shape, variant, server, figure="through_per_s"):
        return median(self.values(shape, variant, server, figure))

    def ratio(self, above, below, figure="through_per_s"):
        """Of the medians of two (shape, variant, server)."""
        return ratio(self.median(*above, figure), self.median(*below, figure))

    def ratios(self, above, below, figure="through_per_s"):
        """Of each round by itself: how far they lie apart."""
        pairs = zip(self.values(*above, figure), self.values(*below, figure))
        return [a / b for a, b in pairs if b]

    def floor(self, way):
        """Pairs of batch and jobs a second of the bare loop."""
        return [(batch, self.median("floor", f"{way} {batch}", "floor", "jobs_per_s")) for batch in BATCHES]

    def write_csv(self, path):
        with open(path, "w", encoding="utf-8", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerow(["shape", "variant", "server", "round", "figure", "value"])
            for row in self.rows:
                place = [row["shape"], row["variant"], row["server"], row["round"]]
                for figure, value in row.items():
                    if figure not in ("shape", "variant", "server", "round"):
                        writer.writerow(place + [figure, f"{value:.6g}"])


# ---- the goals ----

Verdict = namedtuple("Verdict", "what goal figure answer")
OURS = "pgdisque"
KB = 1024


def at_least(what, value, goal, wanted=None, spread=None):
    text = f">= {goal:g}" + (f" ({wanted:g} wanted)" if wanted else "")
    return judged(what, text, value, spread, value is not None and value >= goal)


def at_most(what, value, goal, unit="", spread=None):
    return judged(what, f"<= {goal:g}{unit}", value, spread, value is not None and value <= goal, unit)


def judged(what, goal, value, spread, good, unit=""):
    if value is None:
        return Verdict(what, goal, "-", "not measured")
    decimals = 0 if abs(value) >= 100 else 3 if abs(value) < 1 else 2
    figure = f"{value:,.{decimals}f}{unit}"
    if spread:
        figure += f" (rounds {min(spread):.2f} - {max(spread):.2f})"
    return Verdict(what, goal, figure, "reached" if good else "**not**")


def best_of(results, shape, names):
    """The row with the highest throughput."""
    found = [name for name in names if results.median(shape, "", name)]
    return max(found, key=lambda name: results.median(shape, "", name), default=None)


def against_redis(results):
    for shape, goal, wanted in (("a", 1.6, 2.0), ("b", 1.4, 1.6), ("l", 1.6, None)):
        ours, other = (shape, "", OURS), (shape, "", "redis-list")
        yield at_least(f"({shape}) against Redis lists", results.ratio(ours, other), goal, wanted,
                       results.ratios(ours, other))
    best = best_of(results, "c", ("redis-list", "redis-stream"))
    ours, other = ("c", "", OURS), ("c", "", best)
    yield at_least(f"(c) against the best of Redis ({best or 'none there'})", results.ratio(ours, other), 1.2, 1.5,
                   results.ratios(ours, other))


def floor_at(results, batch):
    """The fastest way of the floor at a batch size, between two measured ones by a straight line."""
    best = 0
    for way in ("each", "handed", "flight"):
        points = results.floor(way)
        if any(rate is None for _, rate in points):
            return None
        for (low, slow), (high, fast) in zip(points, points[1:]):
            if low <= batch <= high:
                best = max(best, slow + (fast - slow) * (batch - low) / (high - low))
    return best or None


def against_floor(results):
    batch = results.median("c", "", OURS, "rows_per_statement")
    floor = floor_at(results, batch) if batch else None
    yield at_least(f"(c) against the floor in batches of {batch:.0f}" if batch else "(c) against the floor",
                   ratio(results.median("c", "", OURS), floor), 0.6)


def library_ratios(results, name):
    """Everything that can be compared with a library in its fastest mode."""
    for shape in "abc":
        yield f"({shape})", results.ratio((shape, "", OURS), ("own", "", name))
    for variant in ("fill", "drain"):
        yield f"(d) {variant}", results.ratio(("d", variant, OURS), ("d", variant, name), "per_s")
    yield "(e) p50", results.ratio(("e", "", name), ("e", "", OURS), "deliver_p50_us")
    for size in BODIES:
        yield f"(i) {size}", results.ratio(("i", size, OURS), ("i", size, name))


def against_libraries(results):
    for name, title in (("graphile", "graphile-worker"), ("pgboss", "pg-boss")):
        for what, value in library_ratios(results, name):
            if value is not None:
                yield at_least(f"{what} against {title} in its fastest mode", value, 2)


def latency(results):
    commit = results.median("floor", "commit", "floor", "p50_us")
    p50 = results.median("e", "", OURS, "deliver_p50_us")
    yield at_most("(e) add to delivery p50 against the bare commit", ratio(p50, commit), 1.6)


def waiters(results):
    for variant in results.variants("f", OURS):
        if variant == NOBODY:
            continue
        place, alone = ("f", variant, OURS), ("f", NOBODY, OURS)
        yield at_least(f"(f) throughput, {variant}", results.ratio(place, alone), 0.9, None,
                       results.ratios(place, alone))
        memory = ratio(results.median(*place, "bytes_per_waiter"), KB)
        yield at_most(f"(f) memory, {variant}", memory, 8, " KB")
        yield at_most(f"(f) woken by one job, {variant}", results.median(*place, "wakes_per_job"), 1)
        yield at_most(f"(f) claims for one job, {variant}", results.median(*place, "claims_per_job"), 1)


def backlog(results):
    for variant in results.variants("g", OURS):
        place, empty = ("g", variant, OURS), ("g", "empty", OURS)
        if variant == "empty" or results.median(*place, "qlen_p99_ms") is None:
            continue
        yield at_most(f"(g) GETJOB p99, {variant}, against empty", results.ratio(place, empty, "get_p99_us"), 2)
        for names, goal in ((("qlen", "qstat", "info"), 1), (("qscan", "jscan"), 5)):
            worst = max(results.median(*place, f"{name}_p99_ms") for name in names)
            title = ", ".join(name.upper() for name in names)
            yield at_most(f"(g) {title} p99, {variant}", worst, goal, " ms")


def windows(results, variant, figure):
    names = [name for name in results.variants("h", OURS) if name.startswith(variant)]
    names.sort(key=lambda name: int(re.search(r"\d+$", name).group(0)))
    return [results.median("h", name, OURS, figure) for name in names]


def inverse(above, below):
    return ratio(below, above)


def snapshot(results):
    """Higher is better in each ratio: throughput as it is, p99 the other way round."""
    for figure, title, better in (("through_per_s", "throughput", ratio), ("deliver_p99_us", "p99", inverse)):
        held, free = windows(results, HELD, figure), windows(results, FREE, figure)
        last = better(held[-1], held[0]) if held else None
        yield at_least(f"(h) {title}, last window against first", last, 0.95)
        yield at_least(f"(h) {title}, held against none", better(median(held), median(free)), 0.95)


# The base of the comparisons of (j).
ALONE = ("j", PLAIN, OURS)


def paired(results, place, figure="through_per_s"):
    """Small differences: of each round by itself, and of these the median."""
    return median(results.ratios(place, ALONE, figure))


def beside(results):
    """Only the users of a feature pay for it."""
    for variant in results.variants("j", OURS):
        if variant in (PLAIN, AGAIN):
            continue
        place = ("j", variant, OURS)
        yield at_least(f"(j) throughput beside {variant}", paired(results, place), 0.97, None,
                       results.ratios(place, ALONE))
        yield at_most(f"(j) server's CPU per job beside {variant}", paired(results, place, "server_cpu_us"), 1.03, "",
                      results.ratios(place, ALONE, "server_cpu_us"))


def thrift(results):
    for shape, what in (("a", "(a)"), ("b", "(b)"), ("c", "(c)")):
        place = (shape, "", OURS)
        yield at_most(f"{what} transactions per job", results.median(*place, "transactions_per_job"), 0.1)
        yield at_most(f"{what} WAL bytes per job of 100 B", results.median(*place, "wal_bytes_per_job"), 600)
    yield at_most("(a) the server's own CPU per job", results.median("a", "", OURS, "own_cpu_us"), 12, " us")


def verdicts(results):
    for part in (against_redis, against_floor, against_libraries, latency, waiters, backlog, snapshot, beside,
                 thrift):
        yield from part(results)
