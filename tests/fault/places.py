"""What some scenarios need besides: a small disk, a network of their own, a clock that can be set.

Each says by why_not() what this machine lacks for it, or nothing.
"""
import ctypes.util
import glob
import os
import shutil
import subprocess

from world import BUILD, Failure, unprivileged


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(" ".join(words) + ": " + done.stderr.strip())


def is_root():
    return os.geteuid() == 0


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
        """What stands before a command that is to run in there, as the user of Postgres."""
        user = unprivileged()
        return ["ip", "netns", "exec", self.name, "setpriv", "--reuid", str(user.pw_uid), "--regid",
                str(user.pw_gid), "--clear-groups", "--pdeathsig", "SIGQUIT"]

    def drop(self, on):
        """Frames go to an address that nobody has: no error, no answer."""
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
    """libfaketime for one program: its wall clock goes by a file, its monotonic clock is left alone."""

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
