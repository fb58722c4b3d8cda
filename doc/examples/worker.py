#!/usr/bin/env python3
"""A worker. PORT, QUEUE and HEARTBEAT (seconds) are environment variables."""
import os
import signal
import threading
import time

import redis

QUEUE = os.environ.get("QUEUE", "emails")
HEARTBEAT = float(os.environ.get("HEARTBEAT", 20))
stopping = threading.Event()


def connect():
    return redis.Redis(port=int(os.environ.get("PORT", 7711)), socket_timeout=15)


def call(connection, commands):
    """Sends commands in one write, again and again while the server is away. LOADING is a ConnectionError of redis-py.

    A reply may be an error.
    """
    while True:
        try:
            pipeline = connection.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return pipeline.execute(raise_on_error=False)
        except (redis.ConnectionError, redis.TimeoutError):
            if stopping.is_set():
                raise
            time.sleep(1)


def work(body, cancelled):
    """Your code. Here the body is the number of seconds that the work takes."""
    print("start", body, flush=True)
    if cancelled.wait(float(body)):
        raise RuntimeError("cancelled")
    print("done", body, flush=True)


def heartbeat(job, ended, cancelled):
    """Renews the lease while the job runs, by a connection of its own. CANCELLED: the work must stop."""
    connection = connect()
    while not ended.wait(HEARTBEAT):
        try:
            connection.execute_command("WORKING", job)
        except redis.RedisError as error:  # STALE: another worker has the job now
            print("heartbeat:", error, flush=True)
            if str(error).startswith("CANCELLED"):
                cancelled.set()
    connection.close()


def run(job):
    """Returns the command for the end of the job."""
    queue, job_id, body, _, nacks, _, redeliveries, token = job
    name = f"{job_id.decode()}:{token}"
    ended, cancelled = threading.Event(), threading.Event()
    beat = threading.Thread(target=heartbeat, args=(name, ended, cancelled), daemon=True)
    beat.start()
    try:
        work(body.decode(), cancelled)
        end = ["ACKJOB", name]
    except Exception as error:
        end = ["NACK", "DELAY", min(2 ** nacks, 3600), "ERROR", str(error), name]
    ended.set()
    beat.join()
    return end


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    connection = connect()
    get = [*"GETJOB TIMEOUT 2000 WITHCOUNTERS WITHTOKENS FROM".split(), QUEUE]
    ends = []
    while True:
        # The end of a job and the next GETJOB are one write, and usually one transaction of the server.
        commands = ends + ([] if stopping.is_set() else [get])
        if not commands:
            return
        replies = call(connection, commands)
        for reply in replies:
            if isinstance(reply, Exception):  # STALE: another worker has the job now
                print("refused:", reply, flush=True)
        if isinstance(replies[-1], Exception):
            time.sleep(1)
        jobs = replies[-1] if commands[-1] is get else None
        ends = [run(job) for job in jobs] if isinstance(jobs, list) else []


main()
