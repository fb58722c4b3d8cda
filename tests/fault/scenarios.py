"""The scenarios: which faults, on which ground, how many.

A scenario that needs more than a Postgres and a server names it in needs: proxy,
disk, network, clock, sync, standby, embedded (the embedded Postgres of the server),
older (a program of an earlier version), citus (a cluster of nodes), or says how
many servers there are. A new ground is a class in requirements.py, a word in needs (Environment in
scenario_run.py), and its faults in faults.py.
"""
import dataclasses
import random

from faults import make_schedule
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
    servers: int = 1            # on one database
    node_with_standby: int = 1  # of Citus
    clean: bool = False         # clients may have to reconnect, but get no errors
    load: dict = dataclasses.field(default_factory=dict)
    settings: str = ""          # of Postgres
    options: tuple = ()         # of the servers
    counter: str = ""           # of INFO: it must have risen at a server at the end of the load


def of_kinds(*kinds, count=5, peace=(0.4, 1.2)):
    return lambda seed, scale: make_schedule(seed, list(kinds), count * scale, peace)


def steady(seconds):
    """No faults: peace, and then more peace."""
    return lambda seed, scale: [(seconds * scale, "nothing", {})]


def each_message(seed, scale):
    """Breaks before every message in turn, in both directions, and while connecting."""
    first = random.Random(seed).randint(1, 3)

    def cuts(direction, last, **more):
        return 0.2, "cut_at_each", {"server": 0, "direction": direction, "first": first, "last": first + last * scale, **more}

    return [cuts(TO_DATABASE, 15), cuts(TO_SERVER, 15), cuts(TO_DATABASE, 8, kind="S"), cuts(TO_SERVER, 8, kind="Z"),
            cuts(TO_DATABASE, 6, connecting=True), cuts(TO_SERVER, 6, connecting=True)]


def each_answer(seed, scale):
    """Breaks before every answer and behind every commit, of each server in turn."""
    first = random.Random(seed).randint(1, 3)
    return [(0.2, "cut_at_each", {"server": server, "direction": TO_SERVER, "kind": kind, "first": first,
                                  "last": first + 7 * scale}) for kind in "ZC" for server in (0, 1)]


def clock_steps(seed, scale):
    return make_schedule(seed, ["step_clock"], 4 * scale, (0.4, 1.2)) + [(0.5, "reset_clocks", {})]


def power_cuts(seed, scale):
    return make_schedule(seed, ["power_cut"], 4 * scale, (0.6, 1.4))


def rolling(seed, scale):
    """Kills the servers in turn, if there are several."""
    rng = random.Random(seed)
    return [(rng.uniform(0.3, 0.9), "restart_server", {"server": i}) for i in range(max(6 * scale, 6))]


def upgrading(seed, scale):
    """Each server in turn, with load before, between and after."""
    rng = random.Random(seed)
    return [(rng.uniform(1.5, 3), "upgrade_server", {"server": i}) for i in range(2)] + steady(2)(seed, scale)


def losing_one(seed, scale):
    """In the end a server is killed for good, after it has recovered from the faults before."""
    rng = random.Random(seed)
    kinds = list(ONE_SERVER) * scale
    rng.shuffle(kinds)
    faults = [f for kind in kinds for f in make_schedule(rng.random(), [kind], 1, (0.3, 1.0))]
    return faults + [(4, "lose_server", {"server": rng.randrange(2)})]


def given_up(seed, scale):
    """A server is silent until the others take it for dead, is back for a moment, and dies."""
    rng = random.Random(seed)
    stops = [(rng.uniform(0.3, 1), name, args) for _ in range(scale - 1) for name, args in (
        ("freeze_server", {"server": 1, "seconds": rng.uniform(6, 9)}),
        ("kill_server", {"server": 1, "down": rng.uniform(0, 8)}))]
    return stops + [(0.5, "freeze_server", {"server": 0, "seconds": rng.uniform(7, 9)}),
                     (rng.uniform(0.3, 0.8), "lose_server", {"server": 0})]


# Faults of a single server among several.
ONE_SERVER = ("kill_server", "freeze_server_long", "freeze_server", "restart_server", "cut")


def promotions(seed, scale):
    """The primary is killed, cut off, and cut off while an operator cancels waits for the standby."""
    rng = random.Random(seed)
    return [(rng.uniform(0.8, 1.5), "promote", {"how": how, "late": rng.uniform(0.1, 0.5)})
            for how in ("killed", "cut off", "cancelled") * scale]


FLUSH_APART = ("--flush-apart", "always")

MIX = ("kill_server", "restart_server", "freeze_server", "freeze_postgres", "kill_postgres", "restart_postgres",
       "terminate_sessions", "cancel_statements", "power_cut", "cut", "cut", "cut", "hold", "take_connections",
       "maintain")


def mix(kinds, count, peace=(0.1, 1.0)):
    """At random; and from the beginning vacuum is held back, with a new snapshot now and then."""
    def schedule(seed, scale):
        faults = make_schedule(seed, list(kinds), count * scale, peace)
        return [f for i, fault in enumerate(faults) for f in ([(0, "hold_snapshot", {})] if i % 4 == 0 else []) + [fault]]
    return schedule



def node_kills(seed, scale):
    """Each node ends in each way, in some order."""
    faults = [("kill_node", {"node": node, "how": how}) for node in range(3) for how in ("killed", "at once", "in commits")]
    return shuffled(seed, scale, faults + [("kill_prepared", {"victim": node}) for node in range(3)])


def shard_moves(seed, scale):
    """With the shards blocked, and by logical replication, while nodes are killed."""
    moves = [("move_shards", {"source": i, "target": (i + 1) % 3, "mode": mode})
             for i, mode in enumerate(("block_writes", "force_logical"))]
    return shuffled(seed, scale, moves)


def node_promotions(seed, scale):
    faults = [("promote_node", {"node": 1, "how": how}) for how in ("killed", "in commits")]
    return shuffled(seed, scale, faults)


def shuffled(seed, scale, faults):
    rng = random.Random(seed)
    faults = faults * scale
    rng.shuffle(faults)
    return [(rng.uniform(0.3, 1), name, args) for name, args in faults]


# The load of a node.
NODE_LOAD = {"rate": 200, "producers": 4, "consumers": 6}

SCENARIOS = [
    Scenario("calm", "no fault: nothing is excused", steady(5), gentle=True),
    Scenario("kill-server", "kill -9 of the server", of_kinds("kill_server", count=7)),
    Scenario("rolling", "SIGTERM and start again, under load", rolling, short=False),
    Scenario("kill-postgres", "kill -9 of Postgres' processes, immediate restarts, terminated sessions",
             of_kinds("kill_postgres", "restart_postgres", "terminate_sessions", "cancel_statements", count=8)),
    Scenario("calm-two", "two servers, no fault: nothing is excused", steady(5), gentle=True, servers=2),
    Scenario("two-servers", "one of two servers is killed, stands still, is restarted, and in the end is lost",
             losing_one, servers=2),
    Scenario("resurrected", "one of two servers is taken for dead, is back for a moment, and is lost",
             given_up, servers=2),
    Scenario("rolling-two", "SIGTERM and start again of two servers in turn, under load", rolling, servers=2,
             clean=True, load={"gentle": 1}),
    Scenario("upgrade", "this version replaces an earlier one", upgrading, needs=("older",), short=False,
             load={"flow-clients": 0, "life-clients": 0}),
    Scenario("upgrade-two", "this version replaces an earlier one at two servers in turn", upgrading, servers=2,
             needs=("older",), clean=True, load={"gentle": 1, "flow-clients": 0, "life-clients": 0}, short=False),
    Scenario("three-mix", "three servers, and all that befalls them and their Postgres",
             mix(MIX + ONE_SERVER + ("swallow",), 10), servers=3, short=False),
    Scenario("cut", "the connection breaks at every message", each_message),
    Scenario("cut-two", "one of two servers does not hear what became of a transaction; the other goes on",
             each_answer, servers=2),
    Scenario("keys", "64 clients add jobs with the same keys at the same time, at two servers, and all that befalls them",
             of_kinds("kill_server", "cut", "kill_postgres", "freeze_server", "terminate_sessions", "restart_server",
                      count=10, peace=(0.2, 0.8)), servers=2, load={"key-clients": 64, "rate": 400}),
    Scenario("freeze", "SIGSTOP of the server and of Postgres' processes",
             of_kinds("freeze_server", "freeze_postgres", "hold", count=6, peace=(0.2, 0.8))),
    Scenario("power", "server and Postgres end at once, in the middle of a commit", power_cuts),
    Scenario("flush-apart", "another session flushes each commit, until Postgres ends at once",
             of_kinds("power_cut", "kill_postgres", "terminate_sessions", "kill_postgres", "cancel_statements", "cut",
                      count=8, peace=(0.2, 0.8)), options=FLUSH_APART),
    Scenario("jobs-ahead", "workers take bursts of jobs that are added ahead, while servers and Postgres end",
             of_kinds("kill_server", "kill_postgres", "terminate_sessions", "cut", "power_cut", "cancel_statements",
                      "restart_server", "hold", count=8, peace=(0.4, 1.0)),
             load={"burst-clients": 8, "rate": 200}, counter="jobs_added_ahead"),
    Scenario("mix", "everything that one machine always allows, at random, while vacuum is held back", mix(MIX, 8)),
    Scenario("crowded", "others have all connections of the database, or lock the table",
             of_kinds("take_connections", "maintain", count=6), short=False),
    Scenario("disk", "the disk is full for a while", of_kinds("fill_disk", count=3), needs=("disk",),
             settings="max_wal_size = 64MB\nmin_wal_size = 32MB\n"),
    Scenario("slow-disk", "syncs take long", of_kinds("slow_disk", "kill_server", count=6), needs=("sync",),
             short=False, fsync=True),
    Scenario("clock", "the wall clocks of server and Postgres step",
             clock_steps, needs=("clock",), short=False, load={"quiet": 12}),
    Scenario("clock-two", "the wall clocks of two servers and their Postgres step",
             clock_steps, needs=("clock",), servers=2, short=False, load={"quiet": 12}),
    Scenario("embedded", "kill -9 of the server with its own Postgres, and of that",
             of_kinds("kill_server", "kill_postgres", "freeze_postgres", "terminate_sessions", count=6),
             needs=("embedded",), short=False),
    Scenario("half-open", "connections to the database go polls, nobody is told",
             of_kinds("swallow", count=2), short=False),
    Scenario("network", "packets to the database are dropped",
             of_kinds("drop_packets", count=3), needs=("network",), short=False),
    Scenario("promotion", "a standby takes the place of a primary that died, or was cut off", promotions,
             needs=("standby",)),
    Scenario("standby", "promotions, standbys that stand still, commits told not to wait for them",
             of_kinds("promote", "freeze_standby", "freeze_standby", "cancel_statements", "terminate_sessions",
                      "kill_server", count=6), needs=("standby",), short=False),
    Scenario("promotion-apart", "promotions while another session flushes each commit", promotions,
             needs=("standby",), options=FLUSH_APART, short=False),
    Scenario("promotion-two", "the same with two servers on the database",
             of_kinds("promote", "promote", "freeze_standby", "kill_server", count=4), needs=("standby",), servers=2, short=False),
    Scenario("nodes", "the Postgres of a node of Citus is killed, also while orders commit at two nodes",
             node_kills, needs=("citus",), load=NODE_LOAD),
    Scenario("shards", "shards of a distributed table move between the nodes of Citus",
             shard_moves, needs=("citus",), load=NODE_LOAD),
    Scenario("node-promotion", "a standby takes the place of a node of Citus", node_promotions,
             needs=("citus", "standby"), load=NODE_LOAD),
]
