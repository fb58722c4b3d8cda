"""SVG plots by gnuplot."""

import os
import shutil
import subprocess

from lib.base import median, say
from lib.shapes import BODIES
from lib.conditions import FREE, HELD
from lib.targets import TITLES

HEAD = """set terminal svg size 900,480 noenhanced font 'sans-serif,13' background '#ffffff'
set output '{path}'
set title '{title}'
set border 3 linecolor '#888888'
set tics nomirror
set grid ytics linecolor '#dddddd'
set key outside right top Left reverse samplen 1 spacing 1.2
"""
COLOURS = ["#1f6feb", "#79b8ff", "#d1495b", "#edae49", "#66a182", "#8d6a9f", "#2e4057", "#a5a58d"]


def colour(i):
    return COLOURS[i % len(COLOURS)]


def quoted(text):
    return '"' + str(text).replace('"', "") + '"'


def draw(path, title, commands):
    script = HEAD.format(path=path, title=title) + commands
    done = subprocess.run(["gnuplot", "-"], input=script, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        say(f"gnuplot: {done.stderr.strip()[:300]}")


def throughput(results, path):
    """Bars with ranges for (a), (b), (c); servers in their own mode stand beside each group."""
    groups = [shape for shape in "abc" if results.servers(shape)]
    names = [name for name in TITLES if name in results.servers("a") + results.servers("own")]
    lines, width = [], 1 / (len(names) + 1)
    plots = []
    for i, name in enumerate(names):
        block, title = [], TITLES[name]
        for g, shape in enumerate(groups):
            place = (shape, "", name)
            if name not in results.servers(shape) and name in results.servers("own"):
                place, title = ("own", "", name), f"{TITLES[name]} *"
            values = results.values(*place, "through_per_s")
            if values:
                x = g + (i - len(names) / 2 + 0.5) * width
                block.append(f"{x:.4f} {median(values)} {min(values)} {max(values)}")
        if not block:
            continue
        lines.append(f"$d{i} << EOD\n" + "\n".join(block) + "\nEOD\n")
        plots.append(f"$d{i} using 1:2:({width * 0.9:.4f}) with boxes linecolor rgb '{colour(i)}'"
                     f" title {quoted(title)}")
        plots.append(f"$d{i} using 1:3:(0):($4-$3) with vectors nohead linecolor rgb '#333333' notitle")
    if not plots:
        return
    titles = {"a": "16 producers, 64 workers", "b": "50 producers, 50 workers", "c": "8 pipelines of 32 commands"}
    tics = ", ".join(f"{quoted(titles[shape])} {g}" for g, shape in enumerate(groups))
    settings = f"set style fill solid\nset xrange [-0.6:{len(groups) - 0.4}]\nset yrange [0:*]\n" \
               f"set format y '%.0f'\nset xtics ({tics})\n"
    draw(path, "Jobs a second through add, delivery and acknowledgement (*: in its own batches)",
         "".join(lines) + settings + "plot " + ", ".join(plots) + "\n")


def lines_plot(path, title, curves, settings):
    """curves: title to points (x, y)."""
    blocks, plots = [], []
    for i, (name, points) in enumerate(curves.items()):
        points = [point for point in points if None not in point]
        if not points:
            continue
        blocks.append(f"$d{i} << EOD\n" + "\n".join(f"{x} {y}" for x, y in points) + "\nEOD\n")
        plots.append(f"$d{i} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb"
                     f" '{colour(i)}' title {quoted(name)}")
    if plots:
        draw(path, title, "".join(blocks) + settings + "\nplot " + ", ".join(plots) + "\n")


def floor(results, path):
    ways = {"each": "a transaction each", "handed": "handed over", "flight": "one transaction for all"}
    curves = {f"bare loop, {title}": results.floor(way) for way, title in ways.items()}
    for shape in "abc":
        place = (shape, "", "pgdisque")
        curves[f"pgdisque ({shape})"] = [(results.median(*place, "rows_per_statement"), results.median(*place))]
    lines_plot(path, "Jobs a second against the batch: the floor, and the server with clients", curves,
               "set logscale xy\nset xlabel 'rows in a statement'\nset format y '%.0f'")


def bodies(results, path):
    curves = {TITLES[server]: [(BODIES[size], results.median("i", size, server)) for size in BODIES]
              for server in results.servers("i")}
    lines_plot(path, "Jobs a second against the size of the body, strict 16+64", curves,
               "set logscale xy\nset xrange [80:2e6]\nset xlabel 'bytes'\nset format y '%.0f'")


WINDOWS = "set yrange [0:*]\nset xtics 1\nset xlabel 'window'"


def over_windows(results, figure, scale):
    curves = {}
    for server in results.servers("h"):
        for kind in (FREE, HELD):
            names = [name for name in results.variants("h", server) if name.startswith(kind)]
            medians = [results.median("h", name, server, figure) for name in names]
            curves[f"{TITLES[server]}, {kind}"] = [(i, value and value / scale) for i, value in enumerate(medians, 1)]
    return curves


def snapshot(results, path):
    lines_plot(path, "Jobs a second, window by window, beside an open REPEATABLE READ transaction",
               over_windows(results, "through_per_s", 1), WINDOWS)


def snapshot_p99(results, path):
    lines_plot(path, "Add to delivery, p99 in ms, beside an open REPEATABLE READ transaction",
               over_windows(results, "deliver_p99_us", 1000), WINDOWS)


def latency(results, path):
    curves = {}
    for server in results.servers("e"):
        points = [(share, results.median("e", "", server, f"deliver_p{share}_us")) for share in (50, 95, 99)]
        curves[TITLES[server]] = points
    lines_plot(path, "Add to delivery, one job at a time: microseconds by percentile", curves,
               "set yrange [0:*]\nset xrange [45:100]\nset xtics (50, 95, 99)")


def draw_all(results, directory):
    """Writes a file for each plot with figures."""
    if not shutil.which("gnuplot"):
        say("gnuplot is not installed: no plots")
        return
    for make in (throughput, floor, bodies, snapshot, snapshot_p99, latency):
        make(results, os.path.join(directory, f"{make.__name__}.svg"))
