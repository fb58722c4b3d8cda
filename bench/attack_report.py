"""The figures of bench/attack."""

from lib.base import median, percentile, ratio

RATIO_LIMIT = 2.0
# The bytes of the server beside maxmemory: code, heap that is free again, connections' structures.
FIXED_MB = 64

HEADER = (f"{'attack':26} {'PING p50':>9} {'during':>9} {'p99':>9} {'during':>9} {'ratio':>6} "
          f"{'jobs p99':>9} {'during':>9} {'ratio':>6} {'login':>8} {'RSS MB':>7} {'during':>7} {'conns':>7} "
          f"{'commands':>9}")


def figure(windows, share):
    """The median of the windows' percentiles. A window without any step lasted longer than all others."""
    return median([percentile(taken, share) for taken in windows if taken])


class Row:
    """The effects of an attack.

    taken: before and during, each with a list of windows for PING and for jobs. login: milliseconds. memory: MB before,
    the peak, and maxmemory. requests: connections and commands that the server received during the attack.
    """

    def __init__(self, name, taken, login, memory, requests):
        self.name, self.login, self.requests = name, login, requests
        self.rss, self.peak, self.maxmemory = memory
        self.p50 = [figure(some[0], 0.5) for some in taken]
        self.p99 = [figure(some[0], 0.99) for some in taken]
        self.jobs = [figure(some[1], 0.99) for some in taken]

    def ratios(self):
        return [ratio(during, before) for before, during in (self.p99, self.jobs)]

    def faults(self):
        """The limits that do not hold."""
        if max(self.ratios()) > RATIO_LIMIT:
            yield f"p99 over {RATIO_LIMIT:g} x"
        if self.peak - self.rss > self.maxmemory + FIXED_MB:
            yield "memory over the limit"
        if self.login == float("inf"):
            yield "a new client could not log in"

    def holds(self):
        return not list(self.faults())

    def text(self):
        first, second = self.ratios()
        return (f"{self.name:26} {self.p50[0]:9.2f} {self.p50[1]:9.2f} {self.p99[0]:9.2f} {self.p99[1]:9.2f} {first:6.1f} "
                f"{self.jobs[0]:9.2f} {self.jobs[1]:9.2f} {second:6.1f} {self.login:8.1f} {self.rss:7.0f} {self.peak:7.0f} "
                f"{self.requests[0]:7.0f} {self.requests[1]:9.0f}"
                f"{'  ' + ', '.join(self.faults()) if not self.holds() else ''}")
