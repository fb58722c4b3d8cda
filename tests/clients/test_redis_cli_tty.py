"""redis-cli on a terminal: completion, hints, help, and commands that run until a key stops them."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PORT = os.environ["PORT"]
PATIENCE = 10 * (5 if os.environ.get("PGDISQUE_TEST_SLOW", "0") not in ("", "0") else 1)
failed = []


class Terminal:
    """A redis-cli that believes that a person sits before it."""

    def __init__(self, *args):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", HOME="/nonexistent", COLUMNS="200")
            os.execvp("redis-cli", ["redis-cli", "-p", PORT, *args])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))

    def type(self, keys):
        self.seen = ""
        os.write(self.fd, keys.encode())

    def until(self, pattern):
        """Has the text come, without the terminal's codes?"""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.seen)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return False
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def answers(self, line, pattern):
        """Waits for the next prompt as well, because redis-cli drops earlier keys."""
        self.type(line + "\r")
        return self.until(pattern + r"[\s\S]*127\.0\.0\.1:\d+> $")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def check(name, ok, terminal=None):
    print(f"{'ok' if ok else 'not ok'} redis-cli on a terminal: {name}", flush=True)
    if not ok:
        failed.append(name)
        if terminal:
            print("# seen: " + repr(terminal.seen))


def cli(*args):
    return subprocess.run(["redis-cli", "-p", PORT, *args], capture_output=True, text=True, check=True).stdout.strip()


def completion():
    t = Terminal()
    check("prompt", t.until(r"> $"), t)
    t.type("addj\t ")
    check("completes a command and hints at its arguments", t.until(r"ADDJOB queue job ms-timeout \[REPLICATE count\]"), t)
    t.type("q body ")
    check("the hint goes on behind what was typed", t.until(r"ADDJOB q body ms-timeout \[REPLICATE count\]"), t)
    t.type("\x15getjob ")
    check("hints at options and what may be repeated",
          t.until(r"getjob \[NOHANG\] \[TIMEOUT ms\] \[COUNT count\] .*FROM queue \[queue ...\]"), t)
    t.type("\x15config g\t ")
    check("completes a member of a family", t.until(r"CONFIG GET pattern \[pattern ...\]"), t)
    t.type("\x15client rep\t ")
    check("hints at the words that it takes", t.until(r"CLIENT REPLY ON\|OFF\|SKIP"), t)
    check("help of a command", t.answers("\x15help llen", r"LLEN key\s+summary: Replies the number of elements"), t)
    check("help of a group", t.answers("help @queue", r"QCONFIG queue [\s\S]*QSCAN [\s\S]*QSTAT queue"), t)
    check("HELLO 3", t.answers("HELLO 3", r'"proto" => \(integer\) 3'), t)
    check("maps of RESP3", t.answers("CONFIG GET port", rf'1# "port" => "{PORT}"'), t)
    t.close()


def monitor():
    t = Terminal("MONITOR")
    check("MONITOR begins", t.until("OK"), t)
    cli("ADDJOB", "seen", "by monitor", "0")
    check("MONITOR shows", t.until(r'\d+\.\d{6} \[[^]]+\] "ADDJOB" "seen" "by monitor" "0"'), t)
    t.close()


def figures():
    cli("ADDJOB", "counted", "body", "0")
    keys = cli("DBSIZE")
    t = Terminal("--stat", "-i", "0.05")
    check("--stat", t.until(r"keys +mem +clients +blocked +requests +connections") and
          t.until(rf"(?m)^{keys} +[\d.]+[BKMG] +\d+ +0 +\d+ \(\+\d+\) +\d+ "), t)
    t.close()
    t = Terminal("--latency")
    check("--latency", t.until(r"min: \d+, max: \d+, avg: [\d.]+ \([1-9]\d* samples\)"), t)
    t.close()


completion()
monitor()
figures()
sys.exit(1 if failed else 0)
