"""The load of bench/soak: bench/load at a rate and at full speed, and some of every other command."""

import itertools
import json
import subprocess
import threading
import time

from lib.base import Failure, LOAD
from soak_server import connect

QUEUE = "soak"
ODD_QUEUE = "soak-odds"
DYING_QUEUE = "soak-dying"
FIXED = ["--producers", "16", "--consumers", "64"]
ODD_SECONDS = 0.1
# The jobs of a round: an ordinary one, a delayed one, one with a TTL, and two that no client fetches in time.
ODD_JOBS = ((ODD_QUEUE, "RETRY", "60"), (ODD_QUEUE, "DELAY", "1", "RETRY", "60"),
            (ODD_QUEUE, "TTL", "600", "RETRY", "60"), (DYING_QUEUE, "TTL", "2"), (DYING_QUEUE, "DELAY", "1", "TTL", "3"))


def run_load(server, seconds, *more):
    """Runs bench/load on the main queue. Returns its figures."""
    command = [LOAD, "--port", str(server.port), "--json", "--queue", QUEUE, *FIXED, "--seconds", f"{seconds:g}",
               *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0 or not done.stdout:
        raise Failure(f"{' '.join(command)}: exit status {done.returncode}\n{server.last_words()}")
    return json.loads(done.stdout)


def probe(server, seconds):
    """Flat out: how many jobs a second go through all three commands. With fewer consumers a backlog
    builds up, so that jobs are claimed rather than handed over."""
    return run_load(server, seconds, "--warmup", "0.5", "--producers", "50", "--consumers", "50")


class Odds:
    """A thread that keeps the rarer paths busy: delays, TTLs, NACK, claims by key, a job that is held."""

    def __init__(self, server):
        self.server = server
        self.done = 0
        self.failure = None
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        """The first job of the main queue is taken and kept, so that the queue is never quite empty."""
        with connect(self.server.port) as client:
            client("ADDJOB", QUEUE, "held", 0, "RETRY", 86000)
            if client("GETJOB", "NOHANG", "FROM", QUEUE) is None:
                raise Failure("the first job was not delivered")
        self.thread.start()

    def run(self):
        try:
            with connect(self.server.port) as client:
                for number in itertools.count():
                    if self.ending.wait(ODD_SECONDS):
                        break
                    self.round(client, number)
        except (OSError, Failure) as reason:
            self.failure = reason

    def round(self, client, number):
        for queue, *options in ODD_JOBS:
            client.send("ADDJOB", queue, f"odd {number}", 0, *options)
        for _ in ODD_JOBS:
            client.read()
        jobs = client("GETJOB", "NOHANG", "COUNT", 10, "FROM", ODD_QUEUE) or []
        ids = [job[1] for job in jobs]
        if ids and number % 5 == 0:
            client("NACK", ids.pop())
        if ids:
            self.done += client("ACKJOB", *ids)

    def stop(self):
        self.ending.set()
        self.thread.join(30)
        if self.failure:
            raise Failure(f"the odd jobs: {self.failure}")


def wait_for(what, seconds, condition):
    """Polls until condition() is true; the seconds it took, or a Failure."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > seconds:
            raise Failure(f"{what}: not within {seconds:g} s")
        time.sleep(0.5)
    return time.monotonic() - begin
