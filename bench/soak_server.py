"""A throwaway pgdisque with its embedded Postgres, and sessions of psql on it."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
READY_SECONDS = 60
STATEMENT_SECONDS = 900
END = "soak-end-of-result"

SETTINGS = """# Of bench/soak: what the obstacles need, and figures of each statement.
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.max = 500
wal_level = logical
max_prepared_transactions = 2
autovacuum_max_workers = 1
idle_in_transaction_session_timeout = 0
"""


class Failure(Exception):
    """Something that makes the whole run pointless; the text says what."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Replies:
    """A connection that speaks RESP2; commands may be pipelined."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=STATEMENT_SECONDS)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def read(self):
        line = self.file.readline()
        if not line:
            raise Failure("the server closed a connection")
        kind, text = line[:1], line[1:-2]
        if kind == b"$":
            return None if text == b"-1" else self.file.read(int(text) + 2)[:-2]
        if kind == b"*":
            return None if text == b"-1" else [self.read() for _ in range(int(text))]
        if kind == b"-":
            raise Failure(f"the server replied -{text.decode()}")
        return int(text) if kind == b":" else text

    def ask(self, *words):
        self.send(*words)
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()


class Psql:
    """A session that stays: files of statements go in, rows come out."""

    def __init__(self, directory):
        words = ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", "5432",
                 "-U", "pgdisque", "postgres"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)

    def run(self, file, **variables):
        """The rows of all statements of bench/sql/<file>.sql, as lists of texts."""
        for name, value in variables.items():
            self.process.stdin.write(f"\\set {name} {value}\n")
        self.process.stdin.write(f"\\i {os.path.join(BENCH, 'sql', file + '.sql')}\n\\echo {END}\n")
        rows = []
        for line in self.process.stdout:
            if line.rstrip("\n") == END:
                return rows
            if line.strip():
                rows.append(line.rstrip("\n").split("\t"))
        raise Failure(f"{file}.sql: {self.process.stderr.read().strip()}")

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


class Server:
    """pgdisque below a directory that somebody else removes."""

    def __init__(self, program, base):
        self.program, self.dir = program, os.path.join(base, "data")
        self.postgres_dir = os.path.join(self.dir, "postgres")
        self.port = free_port()
        self.log = os.path.join(base, "server.log")
        self.process = None

    def command(self, *more):
        return [self.program, "--port", str(self.port), "--dir", self.dir, *more]

    def make_directory(self):
        """The server makes it; then the settings are added, owned by whom Postgres runs as."""
        done = subprocess.run(self.command("--check"), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"pgdisque --check: {done.stderr.strip()[-600:]}")
        path = os.path.join(self.postgres_dir, "postgresql.user.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(SETTINGS)
        owner = os.stat(self.postgres_dir)
        os.chown(path, owner.st_uid, owner.st_gid)

    def start(self):
        self.make_directory()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"pgdisque does not start: {self.last_words()}")
            time.sleep(0.05)

    def answers(self):
        try:
            connection = Replies(self.port)
            try:
                return connection.ask("PING") == b"PONG"
            finally:
                connection.close()
        except (OSError, Failure):
            return False

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-5:]).strip()

    def info(self):
        """All figures of INFO."""
        connection = Replies(self.port)
        try:
            text = connection.ask("INFO", "ALL").decode(errors="replace")
        finally:
            connection.close()
        pairs = (line.split(":", 1) for line in text.split("\r\n") if ":" in line)
        return {name: float(value) for name, value in pairs if re.fullmatch(r"\d+(\.\d+)?", value)}

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def private_bytes(pid):
    """Memory of a process that is its own: not the shared buffers of Postgres."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            match = re.search(r"^RssAnon:\s+(\d+) kB", f.read(), re.MULTILINE)
        if match:
            return int(match.group(1)) * 1024
    return 0


def free_bytes(directory):
    return shutil.disk_usage(directory).free
