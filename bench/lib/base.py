"""Shared by all parts: paths, messages, failures, medians, and a client for servers that speak RESP."""

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(BENCH)
LOAD = os.path.join(BENCH, "load")
WRONG_JOBS = 1


class Failure(Exception):
    """An error that spoils a measurement, with its text."""


class WrongJobs(Failure):
    """Jobs were lost, doubled or damaged."""


class Missing(Exception):
    """A program or library that is not installed. Its measurements are left out."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def build_path(*parts):
    return os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build", "plain")), *parts)


def pgdisque_path():
    return os.path.abspath(os.environ.get("PGDISQUE", os.path.join(ROOT, "pgdisque")))


def output_of(command, **options):
    """The output of the command. A Failure if it fails, WrongJobs if its status says so."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        kind = WrongJobs if done.returncode == WRONG_JOBS and "verdict" in done.stdout else Failure
        said = done.stderr.strip()[-1000:] or done.stdout[-500:]
        name = os.path.basename(command[0])
        raise kind(f"{name} ended with status {done.returncode}: {said}\nIts words: {' '.join(command[1:])}")
    return done.stdout


def json_of(command, **options):
    return json.loads(output_of(command, **options))


def wait_until(test, what, seconds=60.0, pause=0.02):
    """Polls until the test is true."""
    deadline = time.monotonic() + seconds
    while not test():
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds:g} s")
        time.sleep(pause)


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def ratio(above, below):
    return above / below if above is not None and below else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Client:
    """A connection. Replies are int, bytes, list or None."""

    def __init__(self, port, timeout=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        parts = [f"*{len(words)}\r\n".encode()]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise Failure("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Failure(rest.decode(errors="replace"))
        if kind == b"+":
            return rest
        number = int(rest)
        if kind == b":":
            return number
        if kind == b"$":
            return None if number < 0 else self.file.read(number + 2)[:-2]
        return None if number < 0 else [self.read() for _ in range(number)]

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def info(self, *sections):
        """The numbers in INFO's reply."""
        lines = self("INFO", *sections).decode().split("\r\n")
        pairs = (line.split(":", 1) for line in lines if ":" in line)
        return {key: float(value) for key, value in pairs if re.fullmatch(r"\d+(\.\d+)?", value)}

    def times(self, count, *words):
        """Milliseconds from sending to the reply, count times in a row."""
        taken = []
        for _ in range(count):
            start = time.perf_counter()
            self(*words)
            taken.append((time.perf_counter() - start) * 1000)
        return taken


def answers(port, command, start):
    """Whether a server's reply to an inline command begins like that."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        s.sendall(command.encode() + b"\r\n")
        return s.recv(4096).startswith(start)
