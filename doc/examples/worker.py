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


def call(connection, *command):
    """Sends a command, again and again while the server is away. LOADING is a ConnectionError of redis-py."""
    while True:
        try:
            return connection.execute_command(*command)
        except (redis.ConnectionError, redis.TimeoutError):
            if stopping.is_set():
                raise
            time.sleep(1)


def work(body):
    """Your code. Here the body is the number of seconds that the work takes."""
    print("start", body, flush=True)
    time.sleep(float(body))
    print("done", body, flush=True)


def heartbeat(job, ended):
    """Renews the lease while the job runs, by a connection of its own."""
    connection = connect()
    while not ended.wait(HEARTBEAT):
        try:
            connection.execute_command("WORKING", job)
        except redis.RedisError as error:  # STALE: another worker has the job now
            print("heartbeat:", error, flush=True)
    connection.close()


def run(connection, job):
    queue, job_id, body, _, nacks, _, redeliveries, token = job
    name = f"{job_id.decode()}:{token}"
    ended = threading.Event()
    beat = threading.Thread(target=heartbeat, args=(name, ended), daemon=True)
    beat.start()
    try:
        work(body.decode())
        end = ["ACKJOB", name]
    except Exception as error:
        end = ["NACK", "DELAY", min(2 ** nacks, 3600), "ERROR", str(error), name]
    ended.set()
    beat.join()
    try:
        call(connection, *end)
    except redis.ResponseError as error:  # STALE: another worker has the job now
        print("end of the job:", error, flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    connection = connect()
    while not stopping.is_set():
        command = "GETJOB TIMEOUT 2000 WITHCOUNTERS WITHTOKENS FROM".split()
        for job in call(connection, *command, QUEUE) or []:
            run(connection, job)


main()
