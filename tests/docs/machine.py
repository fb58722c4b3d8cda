"""The servers that the tests of the documents use, and the Postgres below them."""
import contextlib
import itertools
import os
import pathlib
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))

import environment  # noqa: E402
import session  # noqa: E402

ROOT = pathlib.Path(environment.ROOT)
LIMIT_S = 60 * environment.SLOW
PROGRAM = str(pathlib.Path(environment.PGDISQUE).resolve())
# Debian's libraries belong to Debian's Python.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# As tests/support/server_process.c: below the ports of outgoing connections, and in turn for programs that run at once.
FIRST_PORT, PORTS, PORTS_OF_A_PROGRAM = 15000, 15000, 64
next_port = itertools.count(os.getpid() * PORTS_OF_A_PROGRAM)


def free_port():
    while True:
        port = FIRST_PORT + next(next_port) % PORTS
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


def end(process):
    """Ends a process, and returns its status."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Running:
    """A server: self.process, its port, and the file of its output."""

    def is_ready(self):
        if self.process.poll() is not None:
            raise environment.Failure(f"the server ended with status {self.process.returncode}:\n{environment.tail(self.log, 30)}")
        with contextlib.suppress(OSError, EOFError):
            connection = session.Connection(self.port, 10)
            reply = connection.call("QLEN", "ready")
            connection.close()
            return reply == 0
        return False


class Server(Running):
    """A server with a directory of its own. Without a database it has an embedded Postgres."""

    def __init__(self, place, database=None, http_port=0):
        self.dir, self.log, self.port, self.http_port = place, place / "log", free_port(), http_port
        place.mkdir()
        place.chmod(0o755)
        self.command = [PROGRAM, "--port", str(self.port), "--http-port", str(http_port), "--bind", "127.0.0.1", "--dir",
                        str(place / "data"), "--enable-debug-command", "yes"]
        self.command += ["--database", database] if database else []
        self.process = None
        self.start()

    def start(self):
        self.process = environment.spawn(self.command, str(self.log), death=signal.SIGTERM, cwd=str(ROOT))
        environment.until(self.is_ready, 60, f"the server at port {self.port} replies")

    def restart(self):
        self.process.wait(LIMIT_S)
        self.start()

    def stop(self):
        return end(self.process)


class Place:
    """A server with an embedded Postgres, and a directory in which commands find the files that they name."""

    def __init__(self, base):
        base.mkdir()
        base.chmod(0o755)
        self.server, self.dir, self.web_port = Server(base / "server", http_port=free_port()), base / "work", free_port()
        self.dir.mkdir()
        for name in ("sql", "conf", "doc"):
            (self.dir / name).symlink_to(ROOT / name)
        (self.dir / "pgdisque").symlink_to(PROGRAM)
        (self.dir / "python3").symlink_to(PYTHON)
        (self.dir / "data").symlink_to(self.data())
        (self.dir / "pgdisque.conf").write_text(f"port {self.server.port}\nbind 127.0.0.1\ndir {self.data()}\n")
        # A reply with an error ends the block.
        (self.dir / ".curlrc").write_text("silent\nshow-error\nfail\n")

    def data(self):
        return self.server.dir / "data"

    def database(self):
        return f"host={self.data() / 'postgres'} user=pgdisque dbname=postgres"


class Machine:
    """A Postgres for the servers of sessions, and places for the commands of pages."""

    def __init__(self, base):
        self.base, self.numbers = base, itertools.count(1)
        place = base / "postgres"
        place.mkdir()
        self.postgres = environment.Postgres(str(place), "max_connections = 100\n")
        self.postgres.start()

    def connection_string(self, name):
        return f"host={self.postgres.dir} user=pgdisque dbname={name}"

    def sql(self, text, name="postgres"):
        return subprocess.run([environment.pg_program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", " ", self.connection_string(name)],
                              input=text, capture_output=True, text=True, timeout=LIMIT_S)

    def new_directory(self, name):
        return self.base / f"{name}-{next(self.numbers)}"

    def new_database(self):
        name = f"docs{next(self.numbers)}"
        self.sql(f"create database {name}")
        return self.connection_string(name)

    def fresh(self):
        return Server(self.new_directory("server"), self.new_database())

    def place(self, name):
        return Place(self.new_directory(name))

    def stop(self):
        self.postgres.stop()
