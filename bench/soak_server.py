"""A throwaway pgdisque with its embedded Postgres, and sessions of psql on it."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from lib.base import BENCH, Client, Failure, answers, free_port

READY_SECONDS = 60
STATEMENT_SECONDS = 900
END = "soak-end-of-result"

SETTINGS = """# Written by bench/soak: settings for the obstacles, and figures of each statement.
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.max = 500
wal_level = logical
max_prepared_transactions = 2
autovacuum_max_workers = 1
idle_in_transaction_session_timeout = 0
hba_file = '{directory}/soak_hba.conf'
"""
# The directory of the socket is closed to other users. psql is a superuser for the extension and the slots.
HBA = "local all all trust\nlocal replication all trust\n"


def connect(port):
    return Client(port, STATEMENT_SECONDS)


class Psql:
    """A session that stays: files of statements go in, rows come out."""

    def __init__(self, directory):
        words = ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", "5432",
                 "-U", "pgdisque_superuser", "postgres"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)

    def run(self, file, **variables):
        """The rows of all statements of bench/sql/<file>.sql, as lists of texts."""
        for name, value in variables.items():
            self.process.stdin.write(f"\\set {name} {value}\n")
        # Quoted as psql reads it, because the folder's name may have blanks.
        path = os.path.join(BENCH, "sql", file + ".sql").replace("\\", "\\\\").replace("'", "\\'")
        self.process.stdin.write(f"\\i '{path}'\n\\echo {END}\n")
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
    """pgdisque below a directory that the caller removes."""

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
        owner = os.stat(self.postgres_dir)
        for name, text in (("postgresql.user.conf", SETTINGS.format(directory=self.postgres_dir)), ("soak_hba.conf", HBA)):
            path = os.path.join(self.postgres_dir, name)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
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
            return answers(self.port, "PING", b"+PONG")
        except OSError:
            return False

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-5:]).strip()

    def info(self):
        """All figures of INFO."""
        with connect(self.port) as client:
            return client.info("ALL")

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Peer(Server):
    """A further server on the database of the first."""

    def __init__(self, first, base, port):
        os.makedirs(base)
        super().__init__(first.program, base)
        self.port, self.postgres_dir = port, first.postgres_dir

    def command(self, *more):
        database = f"host={self.postgres_dir} port=5432 user=pgdisque dbname=postgres"
        return [*super().command(*more), "--database", database]

    def make_directory(self):
        """The database is there."""


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
