#!/usr/bin/env python3
"""Adds, takes and acknowledges jobs while the package is upgraded, and checks that no job is lost.

    load.py PORT      /srv/answered has a line for each ADDJOB with a reply; the file /srv/stop ends the load

Each reply to ADDJOB means that the job is delivered. After the reply to ACKJOB the job is not delivered again.
"""
import os
import socket
import sys
import threading
import time

PORT = int(sys.argv[1])
RETRY_S = 5
END_S = 120
answered, delivered, acknowledged = set(), set(), set()
faults = []


class Connection:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=30)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection has ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise OSError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        return rest


def keep_on(step, is_over):
    """Takes steps over one connection, and makes a new connection after an error."""
    connection = None
    while not is_over():
        try:
            connection = connection or Connection()
            step(connection)
        except OSError:
            connection = None
            time.sleep(0.05)


def adder(name):
    count = iter(range(1 << 30))

    def add(connection):
        body = f"{name}-{next(count)}".encode()
        connection.ask("ADDJOB", "load", body, 5000, "RETRY", RETRY_S)
        answered.add(body)
        with open("/srv/answered", "a") as file:
            file.write(body.decode() + "\n")

    keep_on(add, lambda: os.path.exists("/srv/stop"))


def take(connection):
    for _, job_id, body in connection.ask("GETJOB", "TIMEOUT", 500, "COUNT", 10, "FROM", "load") or []:
        if body in acknowledged:
            faults.append(f"{body.decode()} was delivered after its acknowledgement")
        delivered.add(body)
        if connection.ask("ACKJOB", job_id) == b"1":
            acknowledged.add(body)


def main():
    adders = [threading.Thread(target=adder, args=(f"adder{i}",)) for i in range(4)]
    is_done = threading.Event()
    takers = [threading.Thread(target=keep_on, args=(take, is_done.is_set)) for _ in range(3)]
    for thread in adders + takers:
        thread.start()
    for thread in adders:
        thread.join()
    deadline = time.monotonic() + END_S
    while not answered <= delivered and time.monotonic() < deadline:
        time.sleep(0.1)
    is_done.set()
    for thread in takers:
        thread.join()
    lost = answered - delivered
    print("\n".join(faults[:10] + [f"{body.decode()} is lost" for body in list(lost)[:10]]))
    print(f"{len(answered)} jobs added, {len(acknowledged)} acknowledged, {len(lost)} lost")
    sys.exit(1 if lost or faults else 0)


main()
