#!/usr/bin/python3
"""Jobs of RQ, put there and taken by RQ itself, come by pgdisque import: a worker without RQ can run them."""
import base64
import datetime
import json
import operator
import os
import pathlib
import pickle
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import zlib

import redis
import rq

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("PGDISQUE", str(ROOT / "pgdisque"))
PORT = int(os.environ["PORT"])
SLOW = 5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1
WORKER = """
import redis, rq, sys
rq.Worker(["slow"], connection=redis.Redis(port=int(sys.argv[1]))).work()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(condition):
    end = time.monotonic() + 30 * SLOW
    while not condition():
        if time.monotonic() > end:
            sys.exit("# never became true")
        time.sleep(0.05)


def answers():
    try:
        return there.ping()
    except redis.ConnectionError:
        return False


def move(status, *words):
    done = subprocess.run([BINARY, "import", "--table", f"redis://127.0.0.1:{there_port}", "--to", f"127.0.0.1:{PORT}", "--kind",
                           "rq", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == status, f"exit status {done.returncode}: {done.stdout}"
    return done.stdout


def run_lines_of_page(begin, **names):
    """Runs the block of doc/migrating.md that begins so."""
    text = (ROOT / "doc" / "migrating.md").read_text()
    block = re.search(rf"\n((?:    {re.escape(begin)}.*\n)(?:    .*\n|\n(?=    ))*)", text)[1]
    exec(textwrap.dedent(block), names)


def take(queue):
    job = here.execute_command("GETJOB", "NOHANG", "FROM", queue)
    if job is None:
        return None
    task = json.loads(job[0][2])
    here.execute_command("ACKJOB", job[0][1])
    name, instance, args, kwargs = pickle.loads(zlib.decompress(base64.b64decode(task["data"])))
    assert instance is None
    return task, rq.utils.import_attribute(name)(*args, **kwargs)


def state_of(queue):
    return {state: len(here.execute_command("JSCAN", 0, "QUEUE", queue, "STATE", state, "COUNT", 1000)[1])
            for state in ("queued", "active")}


def test_queues():
    mail, reports = rq.Queue("mail", connection=there), rq.Queue("reports", connection=there)
    first = mail.enqueue(operator.add, 1, 2, job_timeout=77, meta={"who": "me"})
    mail.enqueue(json.dumps, [1, 2], separators=(",", ""), retry=rq.Retry(max=3, interval=9))
    mail.enqueue(operator.mul, 3, 5, at_front=True)
    mail.enqueue_in(datetime.timedelta(hours=1), operator.add, 5, 5)
    reports.enqueue(operator.add, "a", "b" * 100000)
    assert "3\trq:queue:mail" in move(0, "--dry-run", "mail")
    printed = move(0)
    assert "4\tmail" in printed and "5 tasks moved" in printed, printed
    assert take("mail")[1] == 15
    task, result = take("mail")
    assert result == 3 and task["id"] == first.id and task["timeout"] == "77" and task["origin"] == "mail"
    assert pickle.loads(base64.b64decode(task["meta"])) == {"who": "me"}
    job = here.execute_command("QPEEK", "mail", 1)[0][1]
    shown = here.execute_command("SHOW", job)
    assert shown[shown.index(b"attempts") + 1] == 4, shown
    assert take("mail")[1] == "[1,2]"
    assert take("mail") is None and state_of("mail") == {"queued": 0, "active": 1}
    assert take("reports")[1] == "a" + "b" * 100000
    assert not there.keys("rq:job:*") and not mail.count and not len(mail.scheduled_job_registry)


def test_dependents():
    queue = rq.Queue("chain", connection=there)
    first = queue.enqueue(operator.add, 1, 2)
    second = queue.enqueue(operator.add, 3, 4, depends_on=first)
    printed = move(1, "chain")
    assert "0 tasks moved\n1 tasks were not understood" in printed, printed
    assert there.lrange("pgdisque:import:rq:rq:queue:chain:refused", 0, -1) == [first.id.encode()]
    there.lmove("pgdisque:import:rq:rq:queue:chain:refused", "rq:queue:chain")
    rq.SimpleWorker([queue], connection=there).work(burst=True)
    assert second.get_status() == "finished"


def test_worker():
    rq.Queue("page", connection=there).enqueue(os.mkdir, "made", mode=0o700)
    assert "1 tasks moved" in move(0, "page")
    body = here.execute_command("GETJOB", "NOHANG", "FROM", "page")[0][2]
    run_lines_of_page("import base64", body=body)
    assert os.path.isdir("made")


def test_back():
    queue = rq.Queue("default", connection=there)
    first = queue.enqueue(operator.add, 1, 2, meta={"who": "me"})
    assert "1 tasks moved" in move(0, "default")
    run_lines_of_page("while job :=", r=there, q=here, json=json, base64=base64)
    assert here.execute_command("JSCAN", 0, "QUEUE", "default")[1] == []
    rq.SimpleWorker([queue], connection=there).work(burst=True)
    back = rq.job.Job.fetch(first.id, connection=there)
    assert back.get_status() == "finished" and back.result == 3 and back.meta == {"who": "me"}, back.to_dict()


def test_dead_worker():
    queue = rq.Queue("slow", connection=there)
    job = queue.enqueue(time.sleep, 600)
    with open("log", "w") as log:
        worker = subprocess.Popen([sys.executable, "-c", WORKER, str(there_port)], stdout=log, stderr=log,
                                  start_new_session=True)
    wait_for(lambda: len(queue.started_job_registry) == 1)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    assert "0 tasks moved" in move(0, "slow")
    there.zadd("rq:wip:slow", {there.zrange("rq:wip:slow", 0, 0)[0]: time.time() - 5})
    between = rq.job.Job.create(operator.neg, [7], connection=there, origin="slow")
    between.save()
    there.lpush("rq:queue:slow:intermediate", between.id)
    assert "2 tasks moved" in move(0, "slow")
    task = json.loads(here.execute_command("GETJOB", "NOHANG", "FROM", "slow")[0][2])
    assert task["id"] == job.id, task
    assert take("slow")[1] == -7


here = redis.Redis(port=PORT)
there_port = free_port()
there = redis.Redis(port=there_port)
failed = 0
with tempfile.TemporaryDirectory(prefix="pgdisque-test.") as directory:
    os.chdir(directory)
    with open("redis.log", "w") as redis_log:
        server = subprocess.Popen(["redis-server", "--port", str(there_port), "--save", "", "--bind", "127.0.0.1"],
                                  stdout=redis_log)
    try:
        wait_for(answers)
        tests = [test_queues, test_dependents, test_worker, test_back]
        if int(rq.VERSION.split(".")[0]) < 2:
            tests.append(test_dead_worker)
        else:
            print("skipped: RQ 2 itself takes back the jobs of a dead worker (doc/migrating.md)")
        for test in tests:
            try:
                test()
                print(f"ok rq: {test.__name__}")
            except AssertionError as e:
                failed = 1
                print(f"not ok rq: {test.__name__}, line {e.__traceback__.tb_next.tb_lineno}\n# {e}")
    finally:
        server.kill()
        server.wait()
    os.chdir("/")
sys.exit(failed)
