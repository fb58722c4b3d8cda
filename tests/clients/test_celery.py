#!/usr/bin/python3
"""Ten thousand tasks of Celery through clients/kombu, with workers killed on the way: none is lost."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import redis

HERE = pathlib.Path(__file__).resolve().parent
PORT = int(os.environ["PORT"])
SLOW = 5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1
TASKS = 10000 // SLOW
KILLS = 4
QUEUE = "celery-test"

MODULE = f"""
import os, sys
sys.path.insert(0, {str(HERE.parent.parent / "clients" / "kombu")!r})
import pgdisque_kombu
from celery import Celery

app = Celery("tasks", broker="pgdisque://127.0.0.1:{PORT}")
app.conf.update(task_acks_late=True, task_ignore_result=True, worker_prefetch_multiplier=50,
                task_default_queue="{QUEUE}", broker_transport_options=dict(visibility_timeout=3))
done = os.open("done", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

@app.task
def note(n):
    os.write(done, b"%d\\n" % n)
"""
PRODUCER = "import sys, tasks\nfor n in range(int(sys.argv[1]), int(sys.argv[2])): tasks.note.delay(n)"


def run(*words):
    """In a process group of its own, which is killed as a whole."""
    env = dict(os.environ, C_FORCE_ROOT="1")
    with open("log", "ab") as log:
        return subprocess.Popen([sys.executable, *words], env=env, stdout=log, stderr=log, start_new_session=True)


def worker():
    return run("-m", "celery", "-A", "tasks", "worker", "-c", "1", "-l", "WARNING", "-n", f"w{random.random()}")


def kill(process, sig):
    try:
        os.killpg(process.pid, sig)
    except ProcessLookupError:
        pass
    process.wait()


def tasks_done():
    with open("done", "a+") as done:
        done.seek(0)
        return [int(line) for line in done if line.endswith("\n")]


def wait_for(condition):
    end = time.monotonic() + 100 * SLOW
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def play():
    producers = [run("-c", PRODUCER, str(n), str(n + TASKS // 2)) for n in (0, TASKS // 2)]
    workers = [worker(), worker()]
    try:
        for n in range(1, KILLS + 1):
            if not wait_for(lambda: len(tasks_done()) >= n * TASKS // (KILLS + 1)):
                return "the workers stand still"
            kill(workers.pop(0), signal.SIGKILL)
            workers.append(worker())
        wait_for(lambda: len(set(tasks_done())) == TASKS)
        if any(p.wait() for p in producers):
            return "a producer failed"
        if not wait_for(lambda: remaining() == 0):
            return f"{remaining()} jobs are left"
    finally:
        for process in producers + workers:
            kill(process, signal.SIGKILL)
    done = tasks_done()
    lost = TASKS - len(set(done))
    print(f"# {TASKS} tasks, {KILLS} workers killed, {lost} lost, {len(done) - TASKS + lost} done again")
    return f"{lost} tasks are lost" if lost else None


def remaining():
    return len(server.execute_command("JSCAN", 0, "QUEUE", QUEUE, "COUNT", 10)[1])


def redelivered():
    """A rejected task comes again, marked as redelivered."""
    sys.path.insert(0, str(HERE.parent.parent / "clients" / "kombu"))
    import pgdisque_kombu  # noqa: F401, makes the URL known
    import kombu
    with kombu.Connection(f"pgdisque://127.0.0.1:{PORT}") as connection:
        simple = connection.SimpleQueue("celery-simple")
        for body, priority in ({"n": 0}, 0), ({"n": 1}, 9):
            simple.put(body, priority=priority)
        seen = [simple.get(timeout=10)]
        seen[0].requeue()
        seen += [simple.get(timeout=10), simple.get(timeout=10)]
        found = [(m.payload["n"], m.delivery_info["redelivered"]) for m in seen]
        for message in seen[1:]:
            message.ack()
        empty = simple.qsize() == 0
        simple.put({"n": 2})
        empty = empty and simple.clear() == 1 and simple.qsize() == 0
        simple.close()
    return None if empty and found == [(1, False), (0, False), (1, True)] else found


server = redis.Redis(port=PORT)
failed = 0
with tempfile.TemporaryDirectory(prefix="pgdisque-test.") as directory:
    os.chdir(directory)
    pathlib.Path("tasks.py").write_text(MODULE)
    for name, test in (("priorities, rejecting, purging", redelivered), ("no task is lost", play)):
        error = test()
        print(f"{'not ok' if error else 'ok'} celery: {name}")
        if error:
            failed = 1
            print(f"#   {error}")
            if pathlib.Path("log").exists():
                print("".join(f"#   {line}" for line in pathlib.Path("log").read_text().splitlines(True)[-30:]))
    os.chdir("/")
sys.exit(failed)
