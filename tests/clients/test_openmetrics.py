#!/usr/bin/python3
"""METRICS is OpenMetrics 1.0: a parser of the specification. METRICS TEXT has the same samples, and promtool accepts it."""
import os
import re
import shutil
import subprocess
import sys

import redis

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"([a-z_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "info": ("_info",), "histogram": ("_bucket", "_count", "_sum")}


class Family:
    def __init__(self, name, kind):
        self.name, self.kind, self.help, self.series = name, kind, None, {}

    def add(self, name, labels, value):
        suffix = name[len(self.name):]
        assert name.startswith(self.name) and suffix in SUFFIXES[self.kind], f"{name} in the family {self.name}"
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        bound = labels.pop("le", None)
        assert (bound is not None) == (suffix == "_bucket"), f"the bound of {name}"
        samples = self.series.setdefault(tuple(sorted(labels.items())), {})
        assert (suffix, bound) not in samples, f"{name} {labels} is there twice"
        assert self.kind == "gauge" or value >= 0, f"{name} is negative"
        samples[suffix, bound] = value

    def check_histogram(self, samples):
        buckets = [(float(bound), value) for (suffix, bound), value in samples.items() if suffix == "_bucket"]
        assert buckets == sorted(buckets), f"the buckets of {self.name} are not in order"
        assert [v for _, v in buckets] == sorted(v for _, v in buckets), f"{self.name} is not cumulative"
        assert buckets[-1] == (float("inf"), samples["_count", None]), f"the count of {self.name}"
        assert ("_sum", None) in samples, f"{self.name} has no sum"


def parse(text):
    """The families by name. Any fault is an AssertionError."""
    assert text.endswith("# EOF\n"), "the end is missing"
    families, family = {}, None
    for line in text[:-len("# EOF\n")].splitlines():
        words = line.split(" ", 3)
        if words[:2] == ["#", "TYPE"]:
            assert words[2] not in families, f"{words[2]} is there twice"
            family = families[words[2]] = Family(words[2], words[3])
        elif words[:2] == ["#", "HELP"]:
            assert words[2] == family.name and family.help is None and words[3], line
            family.help = words[3]
        else:
            match = SAMPLE.fullmatch(line)
            assert match, f"no sample: {line}"
            family.add(match[1], match[2], float(match[3]))
    for family in families.values():
        assert family.help, f"{family.name} has no help"
        if family.kind == "histogram":
            for samples in family.series.values():
                family.check_histogram(samples)
    return families


def faults_of_promtool(text):
    if not shutil.which("promtool"):
        return ""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    return done.stdout + done.stderr


def names_of_samples(text):
    return re.findall(r"^(pgdisque_[^ ]+) ", text, re.M)


def compare_formats(server):
    """METRICS TEXT. Queues of other tests may come and go between two commands."""
    for _ in range(20):
        before = server.execute_command("METRICS").decode()
        older = server.execute_command("METRICS", "TEXT").decode()
        after = server.execute_command("METRICS").decode()
        if names_of_samples(before) == names_of_samples(after):
            break
    assert names_of_samples(older) == names_of_samples(after), "METRICS TEXT has other samples"
    return older


def play(server):
    # Other tests of this server may have more queues than the default.
    server.execute_command("CONFIG", "SET", "metrics-queues", 10000)
    for name in ("om-plain", 'om-"quoted"\\', "om-\n", b"om-\xff"):
        server.execute_command("ADDJOB", name, "x", 0)
        server.execute_command("GETJOB", "FROM", name)
    text = server.execute_command("METRICS").decode()
    families = parse(text)
    assert families["pgdisque_job_wait_seconds"].series[()]["_count", None] >= 4, "deliveries have no waits"
    assert (("queue", r"om-\"quoted\"\\"),) in families["pgdisque_queue_length"].series, "a queue is missing"
    older = compare_formats(server)
    faults = faults_of_promtool(older)
    assert not faults, faults


try:
    play(redis.Redis(port=int(os.environ["PORT"])))
    error = None
except AssertionError as e:
    error = str(e) or "an assertion failed"
print(f"{'not ok' if error else 'ok'} openmetrics: METRICS follows the specification")
if error:
    print("#   " + error.replace("\n", "\n#   "))
sys.exit(1 if error else 0)
