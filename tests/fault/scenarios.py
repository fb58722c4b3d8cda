"""The scenarios: which faults, on which ground, how many.

A scenario that needs more than a Postgres and a server names it in needs: proxy,
disk, network, clock, sync, embedded (the server's own Postgres). Issue by issue more
grounds are to come: a standby that is promoted, a second server on one database. Such
a thing is a class in places.py, a word in needs (world_for() in scene.py), and its
faults in nemesis.py.
"""
import dataclasses
import random

from nemesis import make_schedule
from proxy import TO_DATABASE, TO_SERVER


@dataclasses.dataclass
class Scenario:
    name: str
    about: str
    schedule: object            # function(seed, scale): list of (peace, fault, arguments)
    needs: tuple = ("proxy",)
    short: bool = True          # part of `make fault`
    gentle: bool = False        # nothing goes wrong, so nothing is excused
    fsync: bool = False
    load: dict = dataclasses.field(default_factory=dict)
    settings: str = ""          # of Postgres


def of_kinds(*kinds, count=5, peace=(0.4, 1.2)):
    return lambda seed, scale: make_schedule(seed, list(kinds), count * scale, peace)


def steady(seconds):
    """No faults: peace, and then more peace."""
    return lambda seed, scale: [(seconds * scale, "nothing", {})]


def each_message(seed, scale):
    """Breaks before every message, one after the other, in both directions, and while connecting."""
    first = random.Random(seed).randint(1, 3)

    def cuts(direction, last, **more):
        return 0.2, "cut_at_each", {"direction": direction, "first": first, "last": first + last * scale, **more}

    return [cuts(TO_DATABASE, 15), cuts(TO_SERVER, 15), cuts(TO_DATABASE, 8, kind="S"), cuts(TO_SERVER, 8, kind="Z"),
            cuts(TO_DATABASE, 6, connecting=True), cuts(TO_SERVER, 6, connecting=True)]


def clock_steps(seed, scale):
    return make_schedule(seed, ["step_clock"], 4 * scale, (0.4, 1.2)) + [(0.5, "reset_clocks", {})]


def power_cuts(seed, scale):
    return make_schedule(seed, ["power_cut"], 4 * scale, (0.6, 1.4))


def rolling(seed, scale):
    return make_schedule(seed, ["restart_server"], 6 * scale, (0.3, 0.9))


MIX = ("kill_server", "restart_server", "freeze_server", "freeze_postgres", "kill_postgres", "restart_postgres",
       "terminate_sessions", "cancel_statements", "power_cut", "cut", "cut", "cut", "hold")

SCENARIOS = [
    Scenario("calm", "no fault: nothing is excused", steady(5), gentle=True),
    Scenario("kill-server", "kill -9 of the server", of_kinds("kill_server", count=7)),
    Scenario("rolling", "SIGTERM and start again, under load", rolling),
    Scenario("kill-postgres", "kill -9 of Postgres' processes, immediate restarts, terminated sessions",
             of_kinds("kill_postgres", "restart_postgres", "terminate_sessions", "cancel_statements", count=8)),
    Scenario("cut", "the connection breaks at every message", each_message),
    Scenario("freeze", "SIGSTOP of the server and of Postgres' processes",
             of_kinds("freeze_server", "freeze_postgres", "hold", count=6, peace=(0.2, 0.8))),
    Scenario("power", "server and Postgres end at once, in the middle of a commit", power_cuts),
    Scenario("mix", "everything that one machine always allows, at random",
             lambda seed, scale: make_schedule(seed, list(MIX), 8 * scale, (0.1, 1.0))),
    Scenario("disk", "the disk is full for a while", of_kinds("fill_disk", count=3), needs=("disk",),
             settings="max_wal_size = 64MB\nmin_wal_size = 32MB\n"),
    Scenario("slow-disk", "syncs take long", of_kinds("slow_disk", "kill_server", count=6), needs=("sync",),
             short=False, fsync=True),
    Scenario("clock", "the wall clocks of server and Postgres step",
             clock_steps, needs=("clock",), short=False, load={"quiet": 12}),
    Scenario("embedded", "kill -9 of the server with its own Postgres, and of that",
             of_kinds("kill_server", "kill_postgres", "freeze_postgres", "terminate_sessions", count=6),
             needs=("embedded",), short=False),
    Scenario("half-open", "connections to the database go deaf, nobody is told",
             of_kinds("swallow", count=2), short=False),
    Scenario("network", "packets to the database are dropped",
             of_kinds("drop_packets", count=3), needs=("network",), short=False),
]
