"""(k): a workflow of levels, and a batch against the same jobs without a batch."""

import threading
import time

from lib.base import Failure, WrongJobs
from lib.shapes import Step

LEVELS, FAN = 10, 10
WORKERS = 4
TAKEN_AT_ONCE = 100
PIPELINE = 200
PLAIN, BATCH = "jobs without a batch", "jobs of a batch"
WORKFLOW = "workflow of 10 levels"
# Guesses for the time left: jobs a second.
PACE = {WORKFLOW: 1_500, PLAIN: 15_000, BATCH: 4_000}


def pipelined(client, calls):
    """The replies of the calls, with a bounded number of calls under way."""
    replies = []
    for start in range(0, len(calls), PIPELINE):
        part = calls[start:start + PIPELINE]
        for call in part:
            client.send(*call)
        replies += [client.read() for _ in part]
    return replies


class Workers:
    """Clients that take jobs and acknowledge them until so many jobs are done."""

    def __init__(self, target, queue, jobs):
        self.target, self.queue, self.left = target, queue, jobs
        self.lock, self.reason = threading.Lock(), None

    def work(self):
        try:
            with self.target.client() as client:
                while self.left > 0 and not self.reason:
                    taken = client("GETJOB", "TIMEOUT", 100, "COUNT", TAKEN_AT_ONCE, "FROM", self.queue) or []
                    done = client("ACKJOB", *(job[1] for job in taken)) if taken else 0
                    with self.lock:
                        self.left -= done
        except (Failure, OSError) as reason:
            self.reason = reason

    def run(self):
        """The seconds that it took."""
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(WORKERS)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.reason or self.left:
            raise WrongJobs(f"{self.queue}: {self.reason or f'{-self.left} jobs were acknowledged twice'}")
        return time.monotonic() - start


def add_levels(client, queue, jobs):
    """Each job waits for FAN jobs of the level before it."""
    width, before = jobs // LEVELS, []
    for _ in range(LEVELS):
        after = [["AFTER", *(before[(i + k) % width] for k in range(FAN))] if before else [] for i in range(width)]
        before = pipelined(client, [("ADDJOB", queue, "x", 0, *words) for words in after])


def workflow(bench, target):
    queue, jobs = bench.new_queue(), bench.scale.workflow
    with target.client() as client:
        start = time.monotonic()
        add_levels(client, queue, jobs)
        added = time.monotonic() - start
    worked = Workers(target, queue, jobs).run()
    yield WORKFLOW, {"jobs": jobs, "add_per_s": jobs / added, "through_per_s": jobs / worked}


def completion_ms(client, queue, start):
    """Waits for the completion job."""
    taken = client("GETJOB", "TIMEOUT", 60_000, "FROM", queue)
    if not taken:
        raise Failure(f"{queue}: no completion job within 60 s")
    took = (time.monotonic() - start) * 1000
    client("ACKJOB", taken[0][1])
    return took


def batch(bench, target, name):
    queue, done, jobs = bench.new_queue(), bench.new_queue(), bench.scale.batch
    with target.client() as client:
        words = ("BATCH", client("BATCH", "NEW", done, "COMPLETE", "all")) if name == BATCH else ()
        start = time.monotonic()
        pipelined(client, [("ADDJOB", queue, "x", 0, *words)] * jobs)
        added = time.monotonic() - start
        if words:
            client("BATCH", "CLOSE", words[1])
        worked = Workers(target, queue, jobs).run()
        figures = {"jobs": jobs, "add_per_s": jobs / added, "through_per_s": jobs / worked}
        if words:
            figures["completion_ms"] = completion_ms(client, done, time.monotonic())
    yield name, figures


def workflow_steps(bench):
    target, scale = bench.targets.get("pgdisque"), bench.scale
    if target is None:
        return
    for number in range(1, scale.workflow_rounds + 1):
        yield Step("k", target.name, number, scale.workflow / PACE[WORKFLOW], lambda: workflow(bench, target))
        for name in (PLAIN, BATCH):
            yield Step("k", target.name, number, scale.batch / PACE[name], lambda name=name: batch(bench, target, name))
