#!/usr/bin/python3
"""Prometheus with conf/prometheus reads a server: its targets, its rules, and the expressions of Grafana's panels."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import redis

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The time for the whole test.
LIMIT_S = 50 * (5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1)
# Values of Grafana's own variables.
VARIABLES = {"$__rate_interval": "1m", "$server": ".*", "$queue": ".*"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write_configuration(folder, http_port):
    """The files of conf/prometheus, with the address of this server and without the wait between two reads."""
    text = (ROOT / "conf/prometheus/scrape.yml").read_text()
    assert "127.0.0.1:7780" in text and ": 15s" in text, "scrape.yml has another form"
    text = text.replace("127.0.0.1:7780", f"127.0.0.1:{http_port}").replace(": 15s", ": 1s")
    (folder / "scrape.yml").write_text(text)
    shutil.copy(ROOT / "conf/prometheus/rules.yml", folder)


class WrongQuery(Exception):
    """Prometheus cannot parse or execute an expression."""


class Prometheus:
    def __init__(self, folder, http_port):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/api/v1/"
        write_configuration(folder, http_port)
        self.log = folder / "log"
        self.end = time.monotonic() + LIMIT_S
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/scrape.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)

    def ask(self, path, **query):
        """The data of a reply."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as e:
            kind = WrongQuery if e.code in (400, 422) else AssertionError
            raise kind(f"{path} {query}: {e.read().decode()}") from e

    def values(self, expression):
        return self.ask("query", query=expression)["result"]

    def until(self, what, condition):
        last = None
        while time.monotonic() < self.end:
            assert self.process.poll() is None, "prometheus has ended:\n" + self.log.read_text()[-2000:]
            try:
                last = condition()
                if last:
                    return last
            except (AssertionError, OSError) as e:
                last = e
            time.sleep(0.1)
        raise AssertionError(f"did not happen: {what}: {last}")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def check_targets(prometheus):
    def is_read():
        targets = prometheus.ask("targets")["activeTargets"]
        assert len(targets) == 1 and targets[0]["health"] == "up", targets
        return True

    prometheus.until("the server is read", is_read)


def check_rules(prometheus):
    def rules():
        return [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    prometheus.until("all rules are evaluated", lambda: all(rule["health"] != "unknown" for rule in rules()))
    text = (ROOT / "conf/prometheus/rules.yml").read_text()
    assert len(rules()) == text.count("- alert: "), "a rule is missing"
    for rule in rules():
        assert rule["health"] == "ok", f"{rule['name']}: {rule.get('lastError')}"
        assert rule["state"] != "firing", f"the server has no fault, but {rule['name']} fires"
        for name in sorted(set(re.findall(r"\b(?:pgdisque_\w+|up)\b", rule["query"]))):
            prometheus.until(f"there is a sample of {name}", lambda name=name: prometheus.values(name))


def expressions():
    """Those of the panels, as Grafana sends them."""
    for panel in json.loads((ROOT / "conf/grafana/pgdisque.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"]
            for name, value in VARIABLES.items():
                text = text.replace(name, value)
            assert "$" not in text, f"{panel['title']} has an unknown variable: {text}"
            yield panel["title"], text


def check_panels(prometheus):
    """Each expression has a value. A rate needs two reads."""
    for title, text in expressions():
        prometheus.until(f"the panel {title} has a value of {text}", lambda text=text: prometheus.values(text))


def check_variables(prometheus):
    """Grafana lists the values of a label for each of its variables."""
    variables = json.loads((ROOT / "conf/grafana/pgdisque.json").read_text())["templating"]["list"]
    queries = [v["query"]["query"] for v in variables if v["type"] == "query"]
    assert len(queries) == 2, "the dashboard has other variables"
    for text in queries:
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", text).groups()
        assert prometheus.ask(f"label/{label}/values", **{"match[]": metric}), f"{text} has no value"


def check_samples(prometheus, server):
    """The names and labels arrive as they are, and the commands of the test are counted."""
    def value(text):
        found = prometheus.values(text)
        return float(found[0]["value"][1]) if found else None

    first = server.execute_command("ADDJOB", 'prom-"quoted"\\', "x", 0)
    server.execute_command("ADDJOB", "prom-after", "x", 0, "AFTER", first)
    prometheus.until("the job is counted", lambda: value(r'pgdisque_queue_length{queue="prom-\"quoted\"\\"}') == 1)
    server.execute_command("GETJOB", "FROM", 'prom-"quoted"\\')
    for name in ("pgdisque_batch_max_rows", "pgdisque_build_info", "pgdisque_leaving", "pgdisque_keys"):
        prometheus.until(f"there is a sample of {name}", lambda name=name: value(name) is not None)
    prometheus.until("the active job is counted", lambda: value("pgdisque_active_jobs") >= 1)
    prometheus.until("the job that waits for it is counted", lambda: value("pgdisque_after_jobs") >= 1)


def play():
    server = redis.Redis(port=int(os.environ["PORT"]))
    # Other tests of this server may have more queues than the default.
    server.execute_command("CONFIG", "SET", "metrics-queues", 10000)
    with tempfile.TemporaryDirectory() as folder:
        prometheus = Prometheus(pathlib.Path(folder), os.environ["HTTP_PORT"])
        try:
            check_targets(prometheus)
            check_samples(prometheus, server)
            check_rules(prometheus)
            check_panels(prometheus)
            check_variables(prometheus)
        finally:
            prometheus.stop()


TITLE = "prometheus: reads the server, and evaluates the rules and the panels"
if not shutil.which("prometheus"):
    print(f"ok {TITLE} # SKIP prometheus is not installed (src/deps.sh clients installs it)")
    sys.exit(0)
try:
    play()
    error = None
except (AssertionError, WrongQuery) as e:
    error = str(e) or "an assertion failed"
print(f"{'not ok' if error else 'ok'} {TITLE}")
if error:
    print("#   " + error.replace("\n", "\n#   "))
sys.exit(1 if error else 0)
