"""Processes: servers, their figures of /proc, a throwaway Postgres, a transaction held open."""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess

from lib.base import Failure, Missing, ROOT, output_of, say, wait_until

TICKS = os.sysconf("SC_CLK_TCK")
READY_SECONDS = 60


def stat_fields(pid):
    """Fields of /proc/<pid>/stat from the state on; empty when the process has gone."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    return []


def own_cpu(pid):
    """CPU seconds of a process, without its children."""
    return sum(int(field) for field in stat_fields(pid)[11:13]) / TICKS


def pids_below(directory):
    """Processes that work in the directory: a server and all that it started."""
    for link in glob.glob("/proc/[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            where = os.readlink(link)
            if where == directory or where.startswith(directory + "/"):
                yield link.split("/")[2]


def cpu_below(directory):
    """CPU seconds of the processes below the directory and of their children that have ended."""
    return sum(sum(int(field) for field in stat_fields(pid)[11:15]) for pid in pids_below(directory)) / TICKS


def memory_of(pid):
    """Bytes of memory a process has in use."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise Failure(f"process {pid} tells no VmRSS")


class Server:
    """A server process in a directory of its own."""

    def __init__(self, name, directory, argv, user=None):
        self.name, self.dir = name, directory
        self.log = directory + ".log"
        os.makedirs(directory, exist_ok=True)
        if user:
            shutil.chown(directory, user)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(argv, cwd=directory, stdout=log, stderr=log, user=user)

    @property
    def pid(self):
        return self.process.pid

    def wait_ready(self, ready):
        def test():
            if self.process.poll() is not None:
                raise Failure(f"{self.name} ended at its start: {self.last_words()}")
            with contextlib.suppress(OSError):
                return ready()
            return False
        wait_until(test, f"{self.name} gets ready", READY_SECONDS)

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-5:]).strip()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is not None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            say(f"{self.name} does not stop; killed")
            self.process.kill()
            self.process.wait()


def machine():
    """This machine, in a line."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
    with open("/proc/meminfo", encoding="ascii") as f:
        memory = int(f.readline().split()[1]) / 2**20
    system = f"{os.uname().sysname} {os.uname().release}"
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB of memory, {system}"


CONF = os.path.join(ROOT, "conf", "embedded-postgresql.conf")


def find(name):
    """A program of Postgres: of the newest server in Debian's directories, or from PATH."""
    found = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")
    by_version = sorted(found, key=lambda path: float(path.split("/")[4]), reverse=True)
    path = by_version[0] if by_version else shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


def unprivileged_user():
    """Postgres refuses to run as root: whom it runs as, None for ourselves."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Database:
    """A database, reached through a socket in a directory."""

    def __init__(self, socket_dir, user, name, superuser=None):
        self.socket_dir, self.user, self.name = socket_dir, user, name
        self.superuser = superuser or user

    @property
    def conninfo(self):
        return f"host={self.socket_dir} port=5432 user={self.user} dbname={self.name}"

    @property
    def url(self):
        return f"postgres://{self.user}@localhost:5432/{self.name}?host={self.socket_dir}"

    def psql(self, *words):
        return [find("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *words, self.conninfo]

    def ask(self, query):
        return output_of(self.psql("-c", query)).strip()

    def checkpoint(self):
        """Only root may be the superuser of an embedded Postgres."""
        try:
            Database(self.socket_dir, self.superuser, self.name).ask("checkpoint")
        except Failure as reason:
            raise Failure(f"only root may make a checkpoint of an embedded Postgres: {reason}") from reason

    def run_file(self, path):
        output_of(self.psql("-f", path))

    def wal_bytes(self):
        """Bytes of write-ahead log written since the cluster was made."""
        return int(self.ask("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def ready(self):
        done = subprocess.run(self.psql("-c", "select 1"), capture_output=True, check=False)
        return done.returncode == 0


class OpenTransaction:
    """A session that sits in a REPEATABLE READ transaction, as a forgotten report would."""

    def __init__(self, database):
        self.process = subprocess.Popen(database.psql("-f", "-"), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.send("begin isolation level repeatable read;\nselect 1;\n")
        if self.answer() != "1":
            raise Failure("the old snapshot could not be opened")

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Fails if the transaction has ended before."""
        self.send("select 2;\ncommit;\n")
        still_there = self.answer() == "2"
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        if kind is None and not still_there:
            raise Failure("the session with the old snapshot did not last")


class Cluster:
    """A throwaway Postgres with the settings of the embedded one, for systems without a server."""

    MORE_CONNECTIONS = 90

    def __init__(self, base, started):
        self.dir = os.path.join(base, "peers-postgres")
        user = unprivileged_user()
        os.makedirs(self.dir, mode=0o700)
        if user:
            shutil.chown(self.dir, user)
        initdb = [find("initdb"), "-D", self.dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        output_of(initdb, user=user, cwd=self.dir)
        shutil.copyfile(CONF, os.path.join(self.dir, "postgresql.conf"))
        argv = [find("postgres"), "-D", self.dir, "-c", f"max_connections={self.MORE_CONNECTIONS}"]
        self.server = Server("postgres", self.dir, argv, user)
        started.callback(self.server.stop, signal.SIGINT)
        self.server.wait_ready(self.database("postgres").ready)

    def database(self, name):
        return Database(self.dir, "postgres", name)

    def create(self, name):
        self.database("postgres").ask(f"create database {name}")
        return self.database(name)
