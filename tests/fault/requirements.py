"""Requirements of some scenarios: a small disk, a network of their own, a clock that can be set.

why_not() of each names the missing part of this machine, or is empty.
"""
import contextlib
import ctypes.util
import glob
import os
import shutil
import socket
import struct
import subprocess

import citus
from environment import BUILD, OLDER, Failure, pg_program, unprivileged, until


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(" ".join(words) + ": " + done.stderr.strip())


def is_root():
    return os.geteuid() == 0


class Citus:
    """The extension, beside the Postgres of the scenarios."""

    @staticmethod
    def why_not():
        return citus.why_not()


class Older:
    """The program of an earlier version."""

    @staticmethod
    def why_not():
        return "" if OLDER else "PGDISQUE_OLDER names no program of an earlier version: use make test-upgrade"


class Disk:
    """A file system in memory, so small that it can be filled."""

    SIZE_MB = 256

    def __init__(self, path):
        self.path = path
        self.ballast = os.path.join(path, "ballast")
        os.mkdir(path)
        command("mount", "-t", "tmpfs", "-o", f"size={self.SIZE_MB}m,mode=0755", "pgdisque-fault", path)

    @staticmethod
    def why_not():
        if not is_root():
            return "mounting needs root"
        probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
        return "" if probe.returncode == 0 else "mounting is not permitted here"

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as f:
            try:
                while f.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass

    def free(self):
        if os.path.exists(self.ballast):
            os.unlink(self.ballast)

    def remove(self):
        subprocess.run(["umount", "-l", self.path], capture_output=True)


class Network:
    """A network namespace for Postgres, and a cable to it that can be made to lose everything."""

    HERE, THERE = "10.213.7.1", "10.213.7.2"
    NOBODY = "02:00:00:00:00:01"

    def __init__(self):
        self.name = f"pgdisque-{os.getpid()}"
        self.here, self.there = "pgdq0", "pgdq1"
        self.remove()
        command("ip", "netns", "add", self.name)
        command("ip", "link", "add", self.here, "type", "veth", "peer", "name", self.there, "netns", self.name)
        command("ip", "addr", "add", self.HERE + "/24", "dev", self.here)
        command("ip", "-n", self.name, "addr", "add", self.THERE + "/24", "dev", self.there)
        for end in (["ip", "link", "set", self.here, "up"], ["ip", "-n", self.name, "link", "set", self.there, "up"],
                    ["ip", "-n", self.name, "link", "set", "lo", "up"]):
            command(*end)

    @staticmethod
    def why_not():
        if not is_root() or not shutil.which("ip") or not shutil.which("setpriv"):
            return "it needs root, ip and setpriv"
        probe = subprocess.run(["unshare", "-n", "ip", "link", "add", "a0", "type", "veth", "peer", "name", "b0"],
                               capture_output=True)
        return "" if probe.returncode == 0 else "network namespaces are not permitted here"

    def command(self):
        """The prefix of a command that runs in the network, as the user of Postgres."""
        user = unprivileged()
        return ["ip", "netns", "exec", self.name, "setpriv", "--reuid", str(user.pw_uid), "--regid",
                str(user.pw_gid), "--clear-groups", "--pdeathsig", "SIGQUIT"]

    def drop(self, on):
        """Frames go to an unused address: no error, no answer."""
        for where, other, end in ((["ip"], self.THERE, self.here),
                                  (["ip", "-n", self.name], self.HERE, self.there)):
            if on:
                command(*where, "neigh", "replace", other, "lladdr", self.NOBODY, "dev", end, "nud", "permanent")
            else:
                command(*where, "neigh", "del", other, "dev", end)

    def remove(self):
        subprocess.run(["ip", "link", "del", self.here], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)


class Clock:
    """libfaketime for a program: a file sets its wall clock, and its monotonic clock is unchanged."""

    def __init__(self, base, name):
        self.file = os.path.join(base, f"clock-{name}")
        self.offset = 0.0
        self.step(0)

    @staticmethod
    def library():
        found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        return found[0] if found else ctypes.util.find_library("faketimeMT")

    @staticmethod
    def why_not():
        return "" if Clock.library() else "libfaketime is not installed (Debian: libfaketime)"

    def env(self):
        return {"LD_PRELOAD": self.library(), "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}

    def step(self, seconds):
        self.offset += seconds
        with open(self.file + ".new", "w") as f:
            f.write(f"{self.offset:+.3f}s\n")
        os.rename(self.file + ".new", self.file)


class Refused(OSError):
    """An error of a statement. The session continues."""


class Session:
    """A foreign session in the same database, which stays until the scenario ends it."""

    def __init__(self, path, timeout=5):
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.settimeout(timeout)
            self.socket.connect(path)
            self.reply = self.socket.makefile("rb")
            words = b"".join(w + b"\0" for w in (b"user", b"pgdisque", b"database", b"postgres", b""))
            self.send(b"", struct.pack("!I", 3 << 16) + words)
        except OSError:
            self.close()
            raise

    def send(self, kind, body):
        """Waits until it has been dealt with. Returns the rows. An OSError says why there are none."""
        self.socket.sendall(kind + struct.pack("!I", len(body) + 4) + body)
        rows, error = [], ""
        while True:
            head = self.reply.read(5)
            if len(head) < 5:
                raise OSError(error or "the session has ended")
            text = self.reply.read(struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] == b"E":
                error = text.replace(b"\0", b" ").decode(errors="replace")
            elif head[:1] == b"D":
                rows.append(values(text))
            elif head[:1] == b"Z" and error:
                raise Refused(error)
            elif head[:1] == b"Z":
                return rows

    def sql(self, text):
        return self.send(b"Q", text.encode() + b"\0")

    def close(self):
        self.socket.close()


def values(row):
    """The texts of a DataRow; None for null."""
    found, at = [], 2
    for _ in range(struct.unpack_from("!H", row)[0]):
        length = struct.unpack_from("!i", row, at)[0]
        found.append(None if length < 0 else row[at + 4:at + 4 + length].decode(errors="replace"))
        at += 4 + max(length, 0)
    return found


class Pair:
    """Two Postgres: a primary, and a standby that the primary's commits wait for."""

    NAME = "other"
    SETTINGS = "wal_level = replica\nmax_wal_senders = 5\nwal_keep_size = 256MB\nhot_standby = on\n"

    def __init__(self, first, second, is_node=False):
        self.first, self.second = first, second
        self.is_node = is_node  # of a Citus cluster
        self.dirs = (first.dir, second.dir)

    @staticmethod
    def why_not():
        try:
            pg_program("pg_basebackup")
        except Failure as e:
            return str(e)
        return ""

    def join(self):
        """The second becomes the standby of the first, whatever it was before."""
        self.clone()
        self.second.start()
        self.first.sql(f"alter system set synchronous_standby_names = '{self.NAME}'")
        self.first.sql("select pg_reload_conf()")
        until(lambda: self.first.sql("select 1 from pg_stat_replication where sync_state = 'sync'"), 30,
              "the standby is synchronous")

    def clone(self):
        target = self.second.dir
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(target)
        os.mkdir(target, 0o700)
        user = self.second.user
        if user:
            os.chown(target, user.pw_uid, user.pw_gid)
        self.run(pg_program("pg_basebackup"), "-D", target, "-h", self.first.dir, "-U", "pgdisque", "-X", "stream",
                 "-c", "fast", "--no-sync")
        self.run("touch", os.path.join(target, "standby.signal"))
        with open(os.path.join(target, "postgresql.user.conf"), "a") as f:
            f.write(citus.name_settings(target) if self.is_node else "")
            f.write(f"primary_conninfo = 'host={self.first.dir} user=pgdisque application_name={self.NAME}'\n")
        # The promoted standby has no standby of its own. The socket lies in the copied directory.
        for name in ("postgresql.auto.conf", ".s.PGSQL.5432.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(target, name))

    def run(self, *words):
        user = self.second.user
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", user=user and user.pw_uid,
                              group=user and user.pw_gid)
        if done.returncode != 0:
            raise Failure(" ".join(words) + ": " + done.stderr.strip())

    def promote(self):
        """The standby is the primary from now on. The scenario ignores the old primary."""
        self.second.sql("select pg_promote(true, 60)")
        self.first, self.second = self.second, self.first

    def timeline(self):
        return int(self.first.sql("select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int")[0][0])


class SlowSync:
    """A disk whose syncs take long: by a library in front of fsync(), which needs no permission.

    Slow reads and a slow page cache would need a device of our own (device mapper), and are left out.
    """

    def __init__(self, base):
        self.file = os.path.join(base, "sync-delay")
        self.set(0)

    @staticmethod
    def why_not():
        return "" if os.path.exists(SlowSync.library()) else "not built"

    @staticmethod
    def library():
        return os.path.join(BUILD, "tests", "fault", "slow_sync.so")

    def env(self):
        return {"LD_PRELOAD": self.library(), "SLOW_SYNC": self.file}

    def set(self, ms):
        with open(self.file, "w") as f:
            f.write(f"{ms}\n")
