#!/usr/bin/python3
"""Workers that know nothing but Redis lists, with redis-py: the reliable queue as its users write it.

Ten thousand tasks; each worker moves a task to a list of its own, does it, and removes it there.
Workers are killed on the way, and their successors first move back what was left. None is lost.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import redis

PORT = int(os.environ["PORT"])
SLOW = 5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1
TASKS = 10000 // SLOW
KILLS = 6

WORKER = """
import os, sys, redis
r = redis.Redis(port=int(sys.argv[1]))
mine = "list-doing:" + sys.argv[2]
done = os.open("done", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while r.rpoplpush(mine, "list-todo"):
    pass
while True:
    task = r.brpoplpush("list-todo", mine, timeout=5)
    if task:
        os.write(done, task + b"\\n")
        r.lrem(mine, 1, task)
"""


def worker(name):
    return subprocess.Popen([sys.executable, "-c", WORKER, str(PORT), name])


def tasks_done():
    with open("done", "a+") as done:
        done.seek(0)
        return [int(line) for line in done if line.endswith("\n")]


def wait_for(condition):
    end = time.monotonic() + 100 * SLOW
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def play():
    names = ["a", "b", "c", "d"]
    workers = {name: worker(name) for name in names}
    try:
        with server.pipeline(transaction=False) as p:
            for n in range(TASKS):
                p.lpush("list-todo", n)
            p.execute()
        for n in range(1, KILLS + 1):
            if not wait_for(lambda: len(tasks_done()) >= n * TASKS // (KILLS + 1)):
                return "the workers stand still"
            name = names[n % len(names)]
            workers[name].send_signal(signal.SIGKILL)
            workers[name].wait()
            workers[name] = worker(name)
        if not wait_for(lambda: not any(server.llen(key) for key in ["list-todo"] + ["list-doing:" + n for n in names])):
            return "tasks are left"
    finally:
        for process in workers.values():
            process.kill()
            process.wait()
    done = tasks_done()
    lost = TASKS - len(set(done))
    print(f"# {TASKS} tasks, {KILLS} workers killed, {lost} lost, {len(done) - TASKS + lost} done again")
    return f"{lost} tasks are lost" if lost else None


server = redis.Redis(port=PORT)
with tempfile.TemporaryDirectory(prefix="pgdisque-test.") as directory:
    os.chdir(directory)
    error = play()
    print(f"{'not ok' if error else 'ok'} list workers: no task is lost")
    if error:
        print(f"#   {error}")
    os.chdir("/")
sys.exit(1 if error else 0)
