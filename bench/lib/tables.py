"""The summary: a Markdown table for each shape, with medians, ranges and ratios."""

from lib.base import median, ratio
from lib.conditions import NOBODY
from lib.results import ALONE, BATCHES, OURS, paired, verdicts
from lib.shapes import BODIES, THROUGHPUT, TITLES as SHAPE_TITLES
from lib.targets import TITLES

OTHERS = {"redis-list": "x list", "redis-stream": "x stream", "sql": "x SQL", "graphile": "x graphile",
          "pgboss": "x pg-boss"}


def figure(value, decimals=0):
    return "-" if value is None else f"{value:,.{decimals}f}"


def spread(values, decimals=0):
    if not values:
        return "-"
    return f"{min(values):,.{decimals}f} - {max(values):,.{decimals}f}"


def table(header, lines, left=2):
    marks = ["---" if i < left else "--:" for i in range(len(header))]
    rows = [header, marks] + lines
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def milliseconds(results, place, what):
    p50, p99 = (results.median(*place, f"{what}_p{share}_us") for share in (50, 99))
    return "-" if not p50 else f"{p50 / 1000:.2f} / {p99 / 1000:.2f}"


def against(results, place, other):
    """Where the other server's figure for the same thing is."""
    shape, variant, _ = place
    if shape in THROUGHPUT and other in ("sql", "graphile", "pgboss"):
        return ("own", "", other)
    return (shape, variant, other)


def ratio_to(results, place, other, what="through_per_s"):
    value = results.ratio(place, against(results, place, other), what)
    return "-" if value is None else f"{value:.2f}"


def throughput(results, shape, variant=""):
    header = ["server", "jobs/s", "range", *OTHERS.values(), "add ms", "add to delivery ms", "ack ms",
              "server us/job", "load us/job"]
    lines = []
    places = [(shape, variant, server) for server in results.servers(shape)]
    for server in results.servers("own"):
        places += [("own", mode, server) for mode in results.variants("own", server)]
    for place in places:
        server = place[2]
        through = results.values(*place, "through_per_s")
        if not through:
            continue
        ratios = [ratio_to(results, place, other) if place[0] == shape else "" for other in OTHERS]
        title = TITLES[server] + ("" if place[0] == shape else f" ({place[1] or 'its own fastest mode'})")
        lines.append([title, figure(median(through)), spread(through), *ratios]
                     + [milliseconds(results, place, what) for what in ("add", "deliver", "ack")]
                     + [figure(results.median(*place, f"{who}_cpu_us{tail}"), 1)
                        for who, tail in (("server", ""), ("load", "_per_job"))])
    return table(header, lines, 1)


INSIDE = {
    "transactions_per_job": ("transactions/job", 3),
    "statements_per_job": ("statements/job", 3),
    "rows_per_statement": ("rows/statement", 1),
    "handed_over": ("handed over", 2),
    "wal_bytes_per_job": ("WAL bytes/job", 0),
    "own_cpu_us": ("own us/job", 1),
    "server_cpu_us": ("with Postgres us/job", 1),
}


def inside(results):
    """The work of pgdisque for a job, in every shape with a throughput."""
    header = ["shape", *(title for title, _ in INSIDE.values())]
    places = [(shape, variant) for shape in THROUGHPUT + "edfghij" for variant in results.variants(shape, "pgdisque")]
    lines = []
    for shape, variant in places:
        values = [figure(results.median(shape, variant, "pgdisque", name), decimals)
                  for name, (_, decimals) in INSIDE.items()]
        lines.append([" ".join((SHAPE_TITLES[shape], variant)), *values])
    return table(header, lines, 1)


def floor(results):
    header = ["transactions", *(f"batch of {batch}" for batch in BATCHES)]
    names = {"each": "add, claim, ack: one each", "handed": "add handed over, ack: one each",
             "flight": "add, claim, ack of the batch before: one for all"}
    lines = []
    for way, title in names.items():
        values = [results.values("floor", f"{way} {batch}", "floor", "jobs_per_s") for batch in BATCHES]
        lines.append([title, *(f"{figure(median(v))} ({spread(v)})" for v in values)])
    text = table(header, lines, 1)
    for way, title in (("commit", "a commit of one row"), ("fdatasync", "a page, `fdatasync`")):
        place = ("floor", way, "floor")
        p50s, p99s = (results.values(*place, name) for name in ("p50_us", "p99_us"))
        text += f"\n- {title}: p50 {figure(median(p50s))} us ({spread(p50s)}), p99 {figure(median(p99s))} us"
    return text + "\n"


def depth(results):
    header = ["server", "fill jobs/s", "drain jobs/s", "pgdisque x fill", "pgdisque x drain"]
    lines = []
    for server in results.servers("d"):
        values = [results.median("d", variant, server, "per_s") for variant in ("fill", "drain")]
        ratios = [results.ratio(("d", variant, "pgdisque"), ("d", variant, server), "per_s")
                  for variant in ("fill", "drain")]
        lines.append([TITLES[server], *map(figure, values), *(figure(value, 2) for value in ratios)])
    return table(header, lines, 1)


def latency(results):
    commit = results.median("floor", "commit", "floor", "p50_us")
    header = ["server", "add to delivery p50 us", "range", "p99 us", "add reply p50 us", "x bare commit"]
    lines = []
    for server in results.servers("e"):
        p50s = results.values("e", "", server, "deliver_p50_us")
        p50 = median(p50s)
        others = [results.median("e", "", server, name) for name in ("deliver_p99_us", "add_p50_us")]
        lines.append([TITLES[server], figure(p50), spread(p50s), *map(figure, others),
                      figure(ratio(p50, commit), 2)])
    return table(header, lines, 1)


def waiters(results):
    header = ["server", "waiting", "jobs/s", "range", "x 0 waiting", "bytes/waiter", "woken by a job",
              "claims for it"]
    lines = []
    for server in results.servers("f"):
        for variant in sorted(results.variants("f", server), key=lambda name: name != NOBODY):
            place = ("f", variant, server)
            through = results.values(*place, "through_per_s")
            lines.append([TITLES[server], variant, figure(median(through)), spread(through),
                          figure(results.ratio(place, ("f", NOBODY, server)), 2)]
                         + [figure(results.median(*place, name))
                            for name in ("bytes_per_waiter", "wakes_per_job", "claims_per_job")])
    return table(header, lines)


def backlog(results):
    commands = ("qlen", "qstat", "info", "qscan", "jscan")
    header = ["backlog", "GETJOB p50 us", "p99 us", "p99 range", "x empty",
              *(f"{name.upper()} ms" for name in commands)]
    lines = []
    for variant in results.variants("g", "pgdisque"):
        place = ("g", variant, "pgdisque")
        if not results.values(*place, "qlen_p50_ms"):
            continue
        p99s = results.values(*place, "get_p99_us")
        lines.append([variant, figure(results.median(*place, "get_p50_us")), figure(median(p99s)), spread(p99s),
                      figure(results.ratio(place, ("g", "empty", "pgdisque"), "get_p99_us"), 2)]
                     + [" / ".join(figure(results.median(*place, f"{name}_p{p}_ms"), 2) for p in (50, 99))
                        for name in commands])
    return table(header, lines, 1)


def snapshot(results):
    header = ["server", "window", "jobs/s", "add to delivery p99 ms", "dead rows", "MB of tables and indexes"]
    lines = []
    for server in results.servers("h"):
        for variant in results.variants("h", server):
            place = ("h", variant, server)
            p99 = ratio(results.median(*place, "deliver_p99_us"), 1000)
            lines.append([TITLES[server], variant, figure(results.median(*place)), figure(p99, 2),
                          figure(results.median(*place, "dead_rows")),
                          figure(results.median(*place, "table_bytes") / 1e6)])
    return table(header, lines)


def beside(results):
    header = ["what other queues use", "jobs/s", "range", "x nothing", "rounds", "server us/job", "x nothing"]
    lines = []
    for variant in results.variants("j", OURS):
        place = ("j", variant, OURS)
        through = results.values(*place, "through_per_s")
        lines.append([variant, figure(median(through)), spread(through), figure(paired(results, place), 3),
                      spread(results.ratios(place, ALONE), 2), figure(results.median(*place, "server_cpu_us"), 1),
                      figure(paired(results, place, "server_cpu_us"), 3)])
    return table(header, lines, 1)


def workflows(results):
    header = ["jobs", "number", "adds/s", "done/s", "range", "completion job after ms"]
    lines = []
    for variant in results.variants("k", OURS):
        place = ("k", variant, OURS)
        through = results.values(*place, "through_per_s")
        lines.append([variant, figure(results.median(*place, "jobs")), figure(results.median(*place, "add_per_s")),
                      figure(median(through)), spread(through), figure(results.median(*place, "completion_ms"), 1)])
    return table(header, lines, 1)


def bodies(results):
    header = ["body", "server", "jobs/s", "range", "MB/s", *OTHERS.values(), "add to delivery ms"]
    lines = []
    for variant in BODIES:
        for server in results.servers("i"):
            place = ("i", variant, server)
            through = results.values(*place, "through_per_s")
            if through:
                lines.append([variant, TITLES[server], figure(median(through)), spread(through),
                              figure(median(through) * BODIES[variant] / 1e6, 1)]
                             + [ratio_to(results, place, other) for other in OTHERS]
                             + [milliseconds(results, place, "deliver")])
    return table(header, lines)


def verdict(results):
    lines = [[line.what, line.goal, line.figure, line.answer] for line in verdicts(results)]
    return table(["what", "goal", "measured", "verdict"], lines, 4)


def in_short(results):
    """Jobs per second of the servers, a line for each shape, with the ratio to pgdisque."""
    shapes = [shape for shape in THROUGHPUT if results.servers(shape)]
    names = [name for name in TITLES if any(name in results.servers(shape) for shape in shapes)]
    lines = []
    for shape in shapes:
        ours = results.median(shape, "", OURS, "through_per_s")
        cells = []
        for name in names:
            value = results.median(shape, "", name, "through_per_s")
            times = f" ({ours / value:.2f} x)" if value and ours and name != OURS else ""
            cells.append(figure(value) + times)
        lines.append([SHAPE_TITLES[shape], *cells])
    header = ["jobs/s; in brackets: pgdisque is so many times as fast", *(TITLES[name] for name in names)]
    return table(header, lines, 1)


def servers(bench):
    lines = [[TITLES[name], target.about["version"], target.about["settings"]]
             for name, target in bench.targets.items()]
    lines += [[TITLES[name], "left out", reason.splitlines()[0]] for name, reason in bench.missing.items()]
    return table(["server", "version", "settings"], lines, 3)


# shape, addition to its title, the table
OTHER_TABLES = (
    ("floor", ": the statements without a server; jobs/s, medians and ranges", floor),
    ("d", "", depth),
    ("e", "", latency),
    ("f", "", waiters),
    ("g", "; times are p50 / p99", backlog),
    ("h", "", snapshot),
    ("i", ", strict 16+64", bodies),
    ("j", ": queues that use nothing, strict 16+64; ratios are medians of those of the rounds", beside),
    ("k", "; one client adds, four clients work", workflows),
)


# The measurements of every round, and the variant that counts.
ROUNDS = (*((shape, "") for shape in THROUGHPUT), ("own", ""), ("e", ""), ("floor", "commit"))


def fewer_rounds(results, rounds):
    """The systems that were not measured in all rounds of a shape, with their number of rounds."""
    for shape, variant in ROUNDS:
        counts = {server: len(results.select(shape, variant, server)) for server in results.servers(shape)}
        fewer = [f"{TITLES[server]} {count}" for server, count in counts.items() if count < rounds]
        if fewer:
            yield f"{SHAPE_TITLES[shape]}: {', '.join(fewer)}"


def what_is_missing(bench):
    """The message of a run that broke off, or that had a failure."""
    rounds = bench.scale.rounds
    fewer = "; ".join(fewer_rounds(bench.results, rounds))
    if bench.steps_done < bench.steps:
        yield f"{bench.steps_done} of {bench.steps} measurements were done"
    if fewer:
        yield f"fewer rounds than {rounds}: {fewer}"


def summary(bench):
    """The whole as Markdown."""
    results = bench.results
    parts = [("In short", in_short(results))]
    parts += [(SHAPE_TITLES[shape], throughput(results, shape)) for shape in THROUGHPUT if results.servers(shape)]
    for shape, more, make in OTHER_TABLES:
        if results.servers(shape):
            parts.append((SHAPE_TITLES[shape] + more, make(results)))
    parts += [("Inside pgdisque", inside(results)), ("Servers", servers(bench)), ("Goals", verdict(results))]
    head = "\n".join(f"- {line}" for line in bench.notes())
    wrong = "".join(f"\n**FAILED**: {text.splitlines()[0]}\n" for text in bench.failures)
    sections = "\n".join(f"## {title}\n\n{text}" for title, text in parts)
    return f"# Benchmark, {bench.scale.name} mode\n\n{head}\n{wrong}\n{sections}"
