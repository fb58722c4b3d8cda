"""Lines, CSV, plot and verdicts of bench/soak."""

import csv
import shutil
import statistics
import subprocess

from soak_sample import statements_in, tables_in

FLAT = 0.95
# Statements with fewer calls a minute say nothing. An index that grows by a level is no growth with time.
FEW_CALLS = 5
BLOCKS_FACTOR, BLOCKS_MORE = 1.25, 2.0
METADATA_MB = 1.0
MEMORY_FACTOR = 1.2
# A small process moves by an arena of the allocator, which is no leak.
MEMORY_MORE_MB = 4.0

COLUMNS = (("minute", "min", "{:.0f}"), ("through_per_s", "jobs/s", "{:,.0f}"), ("probe_per_s", "flat out", "{:,.0f}"),
           ("deliver_p50_ms", "p50 ms", "{:.2f}"), ("deliver_p99_ms", "p99 ms", "{:.2f}"),
           ("deliver_max_ms", "max ms", "{:.0f}"), ("job_mb", "job MB", "{:,.0f}"),
           ("job_index_mb", "index MB", "{:,.0f}"), ("job_dead", "dead", "{:,.0f}"),
           ("queue_counter_dead", "counter dead", "{:,.0f}"), ("worst_blocks", "blocks/row", "{:s}"),
           ("wal_per_job", "WAL B/job", "{:,.0f}"), ("server_mb", "server MB", "{:.1f}"),
           ("sessions_mb", "sessions MB", "{:.1f}"))


SHAPE_COLUMNS = (("minute", "min", "{:.0f}"), ("held_through_per_s", "jobs/s", "{:,.0f}"),
                 ("held_p99_ms", "p99 ms", "{:.1f}"), ("control_through_per_s", "control/s", "{:,.0f}"),
                 ("control_p99_ms", "its p99", "{:.1f}"), ("ratio", "ratio", "{:.2f}"),
                 ("job_dead", "dead jobs", "{:,.0f}"), ("worst_blocks", "blocks/row", "{:s}"))


def head(columns=COLUMNS):
    return "  ".join(title.rjust(max(len(title), 8)) for _, title, _ in columns)


def line(sample, columns=COLUMNS):
    texts = ((title, form.format(sample[name])) for name, title, form in columns)
    return "  ".join(text.rjust(max(len(title), 8)) for title, text in texts)


def shape_head():
    return "shape".ljust(14) + head(SHAPE_COLUMNS)


def shape_line(name, sample):
    return name.ljust(14) + line(sample, SHAPE_COLUMNS)


def worst_blocks(sample, first):
    """The statement whose blocks have grown most since the first minute."""
    grown = [(sample[f"{name}_blocks"] / max(first[f"{name}_blocks"], 1), name) for name in hot_statements(sample, first)]
    if not grown:
        return "-"
    factor, name = max(grown)
    return f"{name} x{factor:.1f}"


def hot_statements(sample, first):
    return [name for name in statements_in(sample)
            if sample[f"{name}_calls"] >= FEW_CALLS and first.get(f"{name}_calls", 0) >= FEW_CALLS]


def write_csv(path, samples):
    names = list(dict.fromkeys(name for sample in samples for name in sample))
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, names, restval="")
        writer.writeheader()
        for sample in samples:
            writer.writerow({name: f"{value:.4g}" if isinstance(value, float) and abs(value) < 1000
                             else f"{value:.0f}" if isinstance(value, float) else value
                             for name, value in sample.items()})


PANELS = (("jobs/s", (("through_per_s", "at a fixed rate"), ("probe_per_s", "flat out"))),
          ("add to delivery, ms", (("deliver_p50_ms", "p50"), ("deliver_p99_ms", "p99"))),
          ("MB", (("job_mb", "table job"), ("job_index_mb", "its indexes"))),
          ("MB of memory", (("server_mb", "server"), ("sessions_mb", "its sessions"))))
BLOCK_STATEMENTS = ("add_jobs", "claim_scan", "claim_keys", "ack_jobs", "wake_due", "save_counters")


def panel(label, lines, samples):
    words, data = [], []
    for name, title in lines:
        rows = [f"{sample['minute']} {sample[name]:.6g}" for sample in samples if name in sample]
        if rows:
            words.append(f"'-' using 1:2 with linespoints linewidth 2 pointsize 0.4 title \"{title}\"")
            data += rows + ["e"]
    return "\n".join([f"set ylabel \"{label}\"", "plot " + ", ".join(words)] + data)


def write_plot(path, samples, title):
    """False when there is no gnuplot."""
    if not shutil.which("gnuplot"):
        return False
    blocks = [(f"{name}_blocks", name.replace("_", " ")) for name in BLOCK_STATEMENTS]
    panels = [panel(label, lines, samples) for label, lines in (*PANELS, ("blocks per row or call", blocks))]
    script = "\n".join([
        f"set terminal svg size 900,1300 dynamic background '#ffffff' font 'sans-serif,12'\nset output \"{path}\"",
        "set key outside right top\nset grid\nset yrange [0:*]\nset xlabel \"minutes\"",
        f"set multiplot layout {len(panels)},1 title \"{title}\"", *panels, "unset multiplot\n"])
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    return True


# ---- verdicts: each is (holds, sentence) ----

def noise(values):
    """The usual difference of a minute from the minute before, as a share. A trend does not change it."""
    jumps = [abs(b - a) for a, b in zip(values, values[1:])]
    return statistics.median(jumps) / statistics.median(values) if jumps and statistics.median(values) else 0.0


def ends(samples, name):
    """Medians of the first and the last tenth of the minutes, of one at least and of three where there are nine."""
    values = [sample[name] for sample in samples]
    few = max(1, len(values) // 10, min(3, len(values) // 3))
    return statistics.median(values[:few]), statistics.median(values[-few:]), values


def flat_rate(samples, name, what):
    first, last, values = ends(samples, name)
    allowance = min(noise(values), 0.1)
    ratio = last / first if first else 0
    return ratio >= FLAT - allowance, (f"{what}: {first:,.0f} to {last:,.0f} jobs/s, {ratio:.2f} of the start"
                                       f" (at least {FLAT} less {allowance:.2f} for noise)")


def flat_latency(samples, name, what):
    first, last, values = ends(samples, name)
    allowance = min(noise(values), 0.3)
    ratio = last / first if first else 0
    return ratio <= 1 / FLAT + allowance, (f"{what}: {first:.2f} to {last:.2f} ms, {ratio:.2f} of the start"
                                           f" (at most {1 / FLAT:.2f} plus {allowance:.2f} for noise)")


def flat_ratio(samples):
    """The throughput beside the snapshot as a share of the control. The control falls with the machine."""
    first, last, values = ends(samples, "ratio")
    allowance = min(noise(values), 0.1)
    before, after, _ = ends(samples, "held_through_per_s")
    p99_before, p99_after, _ = ends(samples, "p99_ratio")
    return last >= first * (FLAT - allowance), (
        f"{before:,.0f} to {after:,.0f} jobs/s, against the control {first:.2f} to {last:.2f}, p99"
        f" {p99_before:.2f} to {p99_after:.2f} (at least {FLAT} of the start less {allowance:.2f} for noise)")


def flat_blocks(samples):
    first, last = samples[0], samples[-1]
    for name in hot_statements(last, first):
        before, after = first[f"{name}_blocks"], last[f"{name}_blocks"]
        yield after <= before * BLOCKS_FACTOR + BLOCKS_MORE, (
            f"blocks of {name}: {before:.1f} to {after:.1f} per row or call, {first[f'{name}_ms']:.2f} to"
            f" {last[f'{name}_ms']:.2f} ms a call, the slowest {last[f'{name}_max_ms']:.0f} ms")


def grown_blocks(samples):
    """The statements whose blocks have grown, and one sentence for all others."""
    verdicts = list(flat_blocks(samples))
    yield from (verdict for verdict in verdicts if not verdict[0])
    flat = sum(holds for holds, _ in verdicts)
    yield True, f"blocks of {flat} of {len(verdicts)} statements are flat"


def bounded_metadata(samples):
    last = samples[-1]
    for table in tables_in(last):
        if table != "job":
            size = last[f"{table}_mb"] + last[f"{table}_index_mb"]
            yield size <= METADATA_MB, (f"table {table}: {size:.2f} MB, {last[f'{table}_dead']:,} dead rows"
                                        f" (at most {METADATA_MB:.0f} MB)")


def memory_back(before, after):
    for name, what in (("server_mb", "memory of the server"), ("sessions_mb", "memory of its sessions")):
        limit = max(before[name] * MEMORY_FACTOR, before[name] + MEMORY_MORE_MB)
        yield after[name] <= limit, f"{what}: {before[name]:.1f} to {after[name]:.1f} MB (at most {limit:.1f})"


def recovered(held, clean, again, seconds):
    """held: at the end of the hour; clean: after vacuum; again: after as much load as in a minute."""
    yield clean["job_dead"] <= held["job_dead"] * 0.05, (
        f"dead rows: {held['job_dead']:,} to {clean['job_dead']:,}, {seconds:.0f} s after the snapshot went")
    yield again["job_mb"] <= clean["job_mb"] * 1.01, (
        f"the table is used again: {clean['job_mb']:.0f} to {again['job_mb']:.0f} MB by another minute of load")
    yield again["job_index_mb"] <= clean["job_index_mb"] * 1.01 + 1, (
        f"its indexes are used again: {clean['job_index_mb']:.0f} to {again['job_index_mb']:.0f} MB")
