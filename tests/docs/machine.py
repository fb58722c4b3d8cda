"""The servers that the tests of the documents use, and the Postgres below them."""
import contextlib
import itertools
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))

import environment  # noqa: E402
import session  # noqa: E402

ROOT = pathlib.Path(environment.ROOT)
LIMIT_S = 60 * environment.SLOW


# As tests/support/server_process.c: below the ports of outgoing connections, and in turn for programs that run at once.
FIRST_PORT, PORTS, PORTS_OF_A_PROGRAM = 15000, 15000, 64
next_port = itertools.count(os.getpid() * PORTS_OF_A_PROGRAM)


def free_port():
    while True:
        port = FIRST_PORT + next(next_port) % PORTS
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


class Server:
    """A server with a directory and a database of its own."""

    def __init__(self, place, database=None, options=()):
        self.dir, self.port = place, free_port()
        place.mkdir()
        place.chmod(0o755)
        self.command = [str(pathlib.Path(environment.PGDISQUE).resolve()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
                        str(place / "data"), "--enable-debug-command", "yes", *options]
        self.command += ["--database", database] if database else []
        self.process = None
        self.start()

    def start(self):
        self.process = environment.spawn(self.command, str(self.dir / "log"), death=signal.SIGTERM, cwd=str(ROOT))
        environment.until(self.is_ready, 60, f"the server at port {self.port} replies")

    def is_ready(self):
        if self.process.poll() is not None:
            raise environment.Failure(f"the server ended:\n{environment.tail(self.dir / 'log', 20)}")
        with contextlib.suppress(OSError, EOFError):
            connection = session.Connection(self.port, 10)
            reply = connection.call("QLEN", "ready")
            connection.close()
            return reply == 0
        return False

    def restart(self):
        self.process.wait(LIMIT_S)
        self.start()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Machine:
    """A Postgres for the servers of sessions, and one server with an embedded Postgres for shell commands."""

    def __init__(self, base):
        self.base, self.count, self.lock = base, 0, threading.Lock()
        place = base / "postgres"
        place.mkdir()
        self.postgres = environment.Postgres(str(place), "max_connections = 100\n")
        self.postgres.start()
        self.private = None

    def connection_string(self, name):
        return f"host={self.postgres.dir} user=pgdisque dbname={name}"

    def sql(self, text, name="postgres"):
        return subprocess.run([environment.pg_program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", " ", self.connection_string(name)],
                              input=text, capture_output=True, text=True, timeout=LIMIT_S)

    def fresh(self, options=()):
        with self.lock:
            self.count += 1
            name = f"docs{self.count}"
        self.sql(f"create database {name}")
        return Server(self.base / name, self.connection_string(name), options)

    def with_private(self):
        """A server with an embedded Postgres, and a directory in which its commands find the files that they name."""
        place = self.base / "work"
        with self.lock:
            if not self.private:
                self.private = Server(self.base / "private")
                place.mkdir()
                for name in ("sql", "conf", "doc"):
                    (place / name).symlink_to(ROOT / name)
                (place / "pgdisque").symlink_to(pathlib.Path(environment.PGDISQUE).resolve())
                (place / "data").symlink_to(self.private.dir / "data")
                (place / "pgdisque.conf").write_text(f"port {self.private.port}\nbind 127.0.0.1\ndir {self.private.dir / 'data'}\n")
            return self.private, place

    def stop(self):
        if self.private:
            self.private.stop()
        self.postgres.stop()
