"""Processes beside a server: attackers, and measuring clients."""

import contextlib
import multiprocessing

from lib.base import Failure

PAUSE_SECONDS = 0.001
FORK = multiprocessing.get_context("fork")


def memory(pid, field):
    """A figure of the process in MB."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) / 1024
    return 0.0


def forget_peak(pid):
    """VmHWM begins anew."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as f:
        f.write("5")


def repeated(waited):
    """Milliseconds of a PING, and of the PINGs that would have been sent while it waited."""
    missed = int(waited / (10 * PAUSE_SECONDS))
    return [(waited - i * 10 * PAUSE_SECONDS) * 1000 for i in range(max(missed, 1))]


class Child:
    """A process with a pipe; it is killed at the end."""

    def __init__(self, stack, target, *args):
        self.pipe, other = FORK.Pipe()
        self.process = FORK.Process(target=target, args=(*args, other), daemon=True)
        self.process.start()
        other.close()
        stack.callback(self.end)

    def end(self):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()

    def answer(self, seconds, what):
        if not self.pipe.poll(seconds):
            raise Failure(f"{what}: not within {seconds:g} s")
        try:
            return self.pipe.recv()
        except EOFError as error:
            raise Failure(f"{what}: its process has died") from error

    def ask(self, seconds, what):
        self.pipe.send(None)
        return self.answer(seconds, what)
