"""The environment of a scenario: a Postgres, a server, the clients, and their processes."""
import contextlib
import ctypes
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build", "plain")
PGDISQUE = os.environ.get("PGDISQUE") or os.path.join(ROOT, "pgdisque")
# A program of an earlier version, from tests/older.
OLDER = os.environ.get("PGDISQUE_OLDER", "")
SLOW = 5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """The scenario cannot go on; the text says why. It has failed."""


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def until(condition, seconds, what):
    """The first true result of condition(), asked again and again."""
    deadline = time.monotonic() + seconds * SLOW
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds * SLOW} s")
        time.sleep(0.02)
    return result


def unprivileged():
    """The user of Postgres. None: the user of this process. A server of root selects the same account."""
    if os.geteuid() != 0:
        return None
    # The array unprivileged_accounts in src/base/system_user.c has these names in this order.
    for name in ("pgdisque", "postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def spawn(command, log, user=None, death=signal.SIGKILL, **more):
    def die_with_parent():
        libc.prctl(PR_SET_PDEATHSIG, death)

    with open(log, "ab") as out:
        return subprocess.Popen(command, stdout=more.pop("stdout", out), stderr=out, preexec_fn=die_with_parent,
                                start_new_session=True, user=user and user.pw_uid, group=user and user.pw_gid,
                                extra_groups=[] if user else None, **more)


def send_signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def children(pid):
    """{pid: title} of the processes that pid has started."""
    found = {}
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                with contextlib.suppress(OSError), open(f"/proc/{child}/cmdline", "rb") as title:
                    found[int(child)] = title.read().replace(b"\0", b" ").decode(errors="replace")
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def tail(path, lines):
    with contextlib.suppress(OSError), open(path, errors="replace") as f:
        return "".join(f.readlines()[-lines:])
    return ""


def pg_program(name):
    places = [os.environ.get("PG_BINDIR", "")] + sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    for place in places:
        if place and os.access(os.path.join(place, name), os.X_OK):
            return os.path.join(place, name)
    found = shutil.which(name)
    if not found:
        raise Failure(f"no {name} found; set PG_BINDIR to the directory of initdb")
    return found


def make_template(path):
    """The directory of a new Postgres; each scenario copies it."""
    user = unprivileged()
    os.mkdir(path, 0o700)
    if user:
        os.chown(path, user.pw_uid, user.pw_gid)
    done = subprocess.run([pg_program("initdb"), "-D", path, "-U", "pgdisque", "-E", "SQL_ASCII", "--locale=C",
                           "-A", "trust", "--no-sync", "--no-instructions"], capture_output=True, text=True,
                          cwd="/", user=user and user.pw_uid, group=user and user.pw_gid)
    if done.returncode != 0:
        raise Failure("initdb: " + done.stdout + done.stderr)
    shutil.copy(os.path.join(ROOT, "conf", "embedded-postgresql.conf"), os.path.join(path, "postgresql.conf"))


class Postgres:
    """A Postgres of our own, with the settings of the embedded one."""

    def __init__(self, base, settings="", env=None, data=None, prefix=None):
        self.prefix = prefix  # runs it as its user by itself
        self.user = unprivileged()
        self.dir = data or os.path.join(base, "postgres")
        self.log = os.path.join(base, "postgres.log")
        self.env = dict(os.environ, **(env or {}))
        self.process = None
        self.starts = 0
        template = os.path.join(os.path.dirname(base), "template")
        if not os.path.exists(template):
            make_template(template)
        subprocess.run(["cp", "-a", "--", template + "/.", self.dir], check=True)
        with open(os.path.join(self.dir, "postgresql.user.conf"), "w") as f:
            f.write("unix_socket_permissions = 0777\nshared_buffers = 64MB\nmax_connections = 20\n" + settings)

    def socket_path(self):
        return os.path.join(self.dir, ".s.PGSQL.5432")

    def start(self):
        self.launch()
        self.wait_ready()

    def launch(self):
        self.starts += 1
        command = (self.prefix or []) + [pg_program("postgres"), "-D", self.dir]
        user = None if self.prefix else self.user
        self.process = spawn(command, self.log, user=user, death=signal.SIGQUIT, cwd="/", env=self.env)

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"postgres ended with status {self.process.returncode}:\n{tail(self.log, 20)}")
        return subprocess.run([pg_program("pg_isready"), "-q", "-t", "2", "-h", self.dir]).returncode == 0

    def wait_ready(self):
        until(self.is_ready, 60, "postgres takes connections")

    def stop(self, how=signal.SIGQUIT):
        if self.process:
            send_signal(self.process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.kill()

    def kill(self):
        """kill -9 of the postmaster; its children notice by themselves, as after a crash."""
        if not self.process:
            return
        left = children(self.process.pid)
        send_signal(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pid in left:
            send_signal(pid, signal.SIGCONT)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left), 30, "the backends end")

    def pids(self, kind):
        """Processes by their role: postmaster, backend, walwriter, checkpointer ..."""
        if kind == "postmaster":
            return [self.process.pid]
        pattern = r"postgres: pgdisque " if kind == "backend" else r"postgres: " + kind
        return [pid for pid, title in children(self.process.pid).items() if re.search(pattern, title)]

    def sql(self, text, timeout=20):
        done = subprocess.run(["psql", "-qAtX", "-h", self.dir, "-U", "pgdisque", "-d", "postgres", "-c", text],
                              capture_output=True, text=True, timeout=timeout, cwd="/")
        if done.returncode != 0:
            raise Failure("psql: " + done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()]


def read_reply(file):
    """A reply of the server: a bulk as its text, an array as a list, anything else as its line."""
    line = file.readline().rstrip(b"\r\n")
    if not line:
        raise OSError("no reply")
    if line.startswith(b"$") and line != b"$-1":
        return file.read(int(line[1:]) + 2)[:-2].decode(errors="replace")
    if line.startswith(b"*") and line != b"*-1":
        return [read_reply(file) for _ in range(int(line[1:]))]
    return line.decode(errors="replace")


class Server:
    """pgdisque under test. Every unexpected end of it fails the scenario."""

    def __init__(self, base, database=None, number=0):
        self.name = f"server{number}" if number else "server"
        self.number = number
        self.dir = os.path.join(base, self.name)
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o755)
        self.log = os.path.join(base, self.name + ".log")
        self.gone = False  # killed, and not started again
        self.port = free_port()
        self.database = database
        self.env = dict(os.environ)
        self.process = None
        self.program = PGDISQUE
        self.options = ()  # further words of its command line

    def launch(self):
        command = [self.program, "--port", str(self.port), "--dir", self.dir, "--loglevel", "verbose"]
        if self.database:
            command += ["--database", self.database]
        command += self.options
        self.process = spawn(command, self.log, env=self.env)

    def start(self):
        self.launch()
        self.wait_ready()

    def wait_ready(self):
        until(self.is_ready, 60, f"the {self.name} serves")

    def is_ready(self):
        self.expect_alive()
        try:
            return self.ask("PING") == "+PONG"
        except OSError:
            return False

    def expect_alive(self):
        if self.process.poll() is not None:
            raise Failure(f"the {self.name} ended with status {self.process.returncode}")

    def ask(self, *words, timeout=10):
        """Sends a command. Returns its reply as read_reply() does."""
        text = b"*%d\r\n" % len(words)
        for word in (w if isinstance(w, bytes) else w.encode() for w in words):
            text += b"$%d\r\n%s\r\n" % (len(word), word)
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(text)
            with s.makefile("rb") as file:
                return read_reply(file)

    def info(self):
        lines = self.ask("INFO", "all").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def queue(self, name):
        """QSTAT as a dictionary; empty when the server does not know the queue."""
        reply = self.ask("QSTAT", name)
        return dict(zip(reply[::2], reply[1::2])) if isinstance(reply, list) else {}

    def kill(self):
        self.expect_alive()
        send_signal(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self, seconds):
        """SIGTERM; how long the end took. Another status than 0 is a failure."""
        self.expect_alive()
        begin = time.monotonic()
        send_signal(self.process.pid, signal.SIGTERM)
        try:
            status = self.process.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            raise Failure(f"the {self.name} did not end within {seconds * SLOW} s of SIGTERM") from None
        if status != 0:
            raise Failure(f"after SIGTERM the {self.name} ended with status {status}")
        return time.monotonic() - begin

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024

    def stop(self):
        if self.process and self.process.poll() is None:
            send_signal(self.process.pid, signal.SIGCONT)
            send_signal(self.process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            send_signal(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Clients:
    """The process of tests/fault/clients.c."""

    def __init__(self, base, ports, options):
        self.history = os.path.join(base, "history")
        self.log = os.path.join(base, "clients.log")
        command = [os.path.join(BUILD, "tests", "fault", "clients"), "--history", self.history]
        for port in ports:
            command += ["--port", str(port)]
        for name, value in options.items():
            command += ["--" + name, str(value)]
        self.figures = [0, 0, 0]
        self.said = set()
        self.process = spawn(command, self.log, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            words = line.decode().split()
            if words[0] == "at":
                self.figures = [int(w) for w in words[1:]]
            else:
                self.said.add(words[0])

    def tell(self, word):
        self.said.clear()
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def stop(self):
        with contextlib.suppress(OSError):
            self.tell("end")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.returncode != 0:
            raise Failure(f"the clients ended with status {self.process.returncode}: {tail(self.log, 5)}")
