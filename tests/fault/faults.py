"""The faults: each is a function that causes it, and undoes it in the end.

A schedule is a list of (seconds of peace before it, name, arguments), made from a
seed beforehand, so that the same seed makes the same schedule.
"""
import contextlib
import random
import signal
import time

from requirements import Session
from proxy import TO_DATABASE, TO_SERVER, Trap
from environment import PGDISQUE, Failure, now_us, send_signal, until

# The kinds of excuses of a fault: the server or the database was gone or stood still.
SERVER, DATABASE, FROZEN, CLOCK = "server", "database", "frozen", "clock"

# The time until the server has given up a polls connection, and uses another.
NOTICED_S = 15

FAULTS = {}

# How the faults are counted in the end; others are "others".
SORTS = {"kill_server": "kills", "lose_server": "kills", "kill_postgres": "kills", "power_cut": "kills", "kill_node": "kills",
         "kill_prepared": "kills", "promote_node": "kills",
         "restart_server": "restarts", "upgrade_server": "restarts", "restart_postgres": "restarts", "freeze_server": "freezes",
         "freeze_server_long": "freezes", "freeze_postgres": "freezes", "nothing": None, "cut": None, "cut_at_each": None}


def fault(*excuses):
    def register(function):
        function.excuses = excuses
        FAULTS[function.__name__] = function
        return function
    return register


class FaultInjector:
    """Executes a schedule on an environment, and records its actions with their times."""

    def __init__(self, environment, say):
        self.environment, self.say = environment, say
        self.record = []  # {name, args, begin, end, excuses, server, node: the only ones with the fault, or None}

    def run(self, schedule):
        for i, (peace, name, args) in enumerate(schedule):
            self.rest(peace)
            self.say(f"{i + 1}/{len(schedule)} {name} {short(args)}")
            self.strike(name, args)

    def strike(self, name, args):
        entry = {"name": name, "args": args, "begin": now_us(), "end": None, "excuses": FAULTS[name].excuses,
                 "server": args["server"] % len(self.environment.servers) if "server" in args else None,
                 "node": args.get("node")}
        self.record.append(entry)
        try:
            FAULTS[name](self.environment, **args)
        finally:
            entry["end"] = now_us()

    def rest(self, seconds):
        time.sleep(seconds)
        for server in self.environment.live():
            server.expect_alive()


def short(args):
    return " ".join(f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
                    for key, value in args.items())


@fault()
def nothing(environment):
    """For comparison."""


# ---- the server ----

@fault(SERVER)
def kill_server(environment, server, down):
    environment.server(server).kill()
    time.sleep(down)
    environment.server(server).start()


@fault(SERVER)
def lose_server(environment, server):
    """It is killed and does not come back: others have to do its work."""
    environment.server(server).gone = True
    environment.server(server).kill()


@fault(SERVER)
def restart_server(environment, server):
    environment.note_stop(environment.server(server).terminate(seconds=8))
    environment.server(server).start()


@fault(SERVER)
def upgrade_server(environment, server):
    """The program of this version replaces that of an earlier version."""
    environment.server(server).program = PGDISQUE
    restart_server(environment, server)


@fault(SERVER, FROZEN)
def freeze_server(environment, server, seconds):
    with frozen([environment.server(server).process.pid], seconds):
        pass


@fault(SERVER, FROZEN)
def freeze_server_long(environment, server, seconds):
    """So long that leases end meanwhile, and clients leave."""
    freeze_server(environment, server, seconds)


@contextlib.contextmanager
def frozen(pids, seconds):
    for pid in pids:
        send_signal(pid, signal.SIGSTOP)
    try:
        yield
        time.sleep(seconds)
    finally:
        for pid in pids:
            send_signal(pid, signal.SIGCONT)


# ---- Postgres ----

def pick(environment, kind, which):
    pids = sorted(environment.postgres.pids(kind))
    return pids[which % len(pids)] if pids else None


@fault(DATABASE, FROZEN)
def freeze_postgres(environment, kind, seconds):
    with frozen(environment.postgres.pids(kind), seconds):
        pass


@fault(DATABASE)
def kill_postgres(environment, kind, which, down):
    """kill -9 of a process. After the death of the postmaster, Postgres is started again."""
    pid = pick(environment, kind, which)
    if kind == "postmaster":
        environment.postgres.kill()
        time.sleep(down)
        environment.postgres.start()
    elif pid is not None:
        send_signal(pid, signal.SIGKILL)
        environment.postgres.wait_ready()


@fault(DATABASE)
def restart_postgres(environment, how, down):
    """Restarted as by pg_ctl, immediately or fast."""
    environment.postgres.stop(signal.SIGQUIT if how == "immediate" else signal.SIGINT)
    time.sleep(down)
    environment.postgres.start()


@fault(DATABASE)
def terminate_sessions(environment):
    ask_sessions(environment, "pg_terminate_backend")


@fault(DATABASE)
def cancel_statements(environment, times):
    for _ in range(times):
        ask_sessions(environment, "pg_cancel_backend")


def ask_sessions(environment, function):
    with contextlib.suppress(Failure):
        environment.postgres.sql(f"select {function}(pid) from pg_stat_activity where application_name like 'pgdisque %'")


@fault(SERVER, DATABASE)
def power_cut(environment, held, down):
    """Server and Postgres end at once, while a transaction is held back before its commit."""
    for proxy in environment.proxies:
        proxy.hold("S")
    for proxy in environment.proxies:
        proxy.holding.wait(2)
    for pid in environment.postgres.pids("backend") if not environment.proxies else []:
        send_signal(pid, signal.SIGSTOP)
    time.sleep(held)
    for server in environment.live():
        server.kill()
    environment.postgres.kill()
    for proxy in environment.proxies:
        proxy.cut_all()
        proxy.release()
    time.sleep(down)
    environment.postgres.start()
    for server in environment.live():
        server.start()


@fault(DATABASE)
def take_connections(environment, seconds, terminate):
    """Foreign sessions take all of max_connections, also those of the servers after a termination."""
    taken = []
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            take_the_rest(environment, taken)
            if terminate and taken:
                taken[0].sql(TERMINATE)
            time.sleep(0.01)
    finally:
        for session in taken:
            session.close()


def take_the_rest(environment, taken):
    with contextlib.suppress(OSError):
        while True:
            taken.append(Session(environment.postgres.socket_path()))


TERMINATE = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pgdisque %'"


@fault()
def hold_snapshot(environment):
    """From now on vacuum removes nothing, until another snapshot takes its place, or the session dies."""
    if environment.snapshot:
        environment.snapshot.close()
    environment.snapshot = until(lambda: open_snapshot(environment), 30, "the database takes one more session")


def open_snapshot(environment):
    with contextlib.suppress(OSError):
        session = Session(environment.postgres.socket_path())
        session.sql("begin isolation level repeatable read; select 1")
        return session


@fault(DATABASE)
def maintain(environment, statement):
    """Maintenance by operators, which locks the table for a while."""
    with contextlib.suppress(Failure):
        environment.postgres.sql(statement)


# ---- the standby ----

@fault(DATABASE, FROZEN)
def promote(environment, how, late):
    """The standby becomes the primary. The old one was killed; or it lives, and is cut off from the standby;
    an operator may even stop its commits from waiting for the standby."""
    old = environment.postgres
    if how == "killed":
        old.kill()
    else:
        for pid in old.pids("walsender"):
            send_signal(pid, signal.SIGSTOP)
    if how == "cancelled":
        cancel_for(environment, late)
    else:
        time.sleep(late)
    environment.promote()
    until_servers_follow(environment)
    if how != "killed":
        old.kill()
    environment.pair.join()


def until_servers_follow(environment):
    timeline = environment.pair.timeline()
    until(lambda: all(s.info().get("database_timeline") == str(timeline) for s in environment.live()), NOTICED_S,
          "the servers have found the new primary")


@fault(DATABASE, FROZEN)
def freeze_standby(environment, seconds, cancel):
    """Commits wait for it; some are told to wait no longer."""
    with frozen(environment.postgres.pids("walsender"), 0 if cancel else seconds):
        if cancel:
            cancel_for(environment, seconds)


def cancel_for(environment, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ask_sessions(environment, "pg_cancel_backend")
        time.sleep(0.02)


# ---- nodes of Citus ----

@fault(DATABASE, FROZEN)
def kill_node(environment, node, how):
    """The Postgres of a node ends at once, and starts again when the other nodes have worked without it."""
    dead = environment.node(node)
    if how == "in commits":
        environment.hold_commits(dead, environment.without(dead))
    if how == "at once":
        dead.postgres.stop()
    else:
        dead.postgres.kill()
    environment.others_go_on(dead)
    dead.postgres.start()
    dead.release_commits()


@fault(DATABASE, FROZEN)
def kill_prepared(environment, victim):
    """The Postgres of a node ends after it has prepared an order, which the node of the order then commits."""
    dead, other = environment.node(victim), environment.node(victim + 1)
    environment.hold_commits(other, [dead])
    dead.postgres.kill()
    other.release_commits()
    environment.others_go_on(dead)
    dead.postgres.start()


@fault(DATABASE, FROZEN)
def promote_node(environment, node, how):
    """The Postgres of a node ends, and its standby takes its place when the other nodes have worked without it."""
    dead = environment.node(node)
    if how == "in commits":
        environment.hold_commits(dead, environment.without(dead))
    dead.postgres.kill()
    environment.others_go_on(dead)
    environment.promote(dead)
    until_servers_follow(dead)
    dead.pair.join()


@fault()
def move_shards(environment, source, target, mode):
    """All shards of a node move to another, and some of them back. No queue notices it."""
    environment.move_shards(environment.node(source), environment.node(target), mode)
    environment.wait_for_progress(environment.nodes)
    environment.rebalance(mode)


# ---- the connections between Postgres and a server ----

@fault(DATABASE)
def cut(environment, server, direction, number, kind=None, partial=False, wait=2.0):
    """The connection breaks at the n-th message from now."""
    proxy = environment.proxy(server)
    trap = proxy.arm(Trap(direction, number, kind, partial))
    if not trap.sprung.wait(wait):
        proxy.disarm()


@fault(DATABASE)
def cut_at_each(environment, server, direction, first, last, kind=None, connecting=False):
    """Cuts in turn, each a message later: of the traffic, or of a connection that is being made."""
    proxy = environment.proxy(server)
    for number in range(first, last + 1):
        until(proxy.is_settled, 20, "transactions are under way again")
        if connecting:
            proxy.cut_all()
        cut(environment, server, direction, number, kind, partial=number % 3 == 0, wait=1.0)


@fault(DATABASE, FROZEN)
def hold(environment, server, kind, seconds):
    """The messages of the server are late."""
    environment.proxy(server).hold(kind)
    time.sleep(seconds)
    environment.proxy(server).release()


@fault(DATABASE, FROZEN)
def swallow(environment, server, seconds):
    """Half-open connections: no bytes pass, without an error. The server has to notice it."""
    proxy = environment.proxy(server)
    proxy.swallow(True)
    time.sleep(seconds)
    proxy.swallow(False)
    until(proxy.is_settled, NOTICED_S, "the server has noticed that its connections are polls")


@fault(DATABASE, FROZEN)
def drop_packets(environment, seconds):
    """The network takes packets and delivers none, both ways."""
    environment.network.drop(True)
    time.sleep(seconds)
    environment.network.drop(False)


# ---- the machine ----

@fault(DATABASE, FROZEN)
def fill_disk(environment, seconds):
    environment.disk.fill()
    time.sleep(seconds)
    environment.disk.free()
    until_postgres_runs(environment)


def until_postgres_runs(environment):
    """Postgres may have given up on a full disk: then it is started again, as a service manager does."""
    if environment.postgres.process.poll() is not None:
        environment.postgres.start()
    environment.postgres.wait_ready()


@fault(DATABASE, FROZEN)
def slow_disk(environment, ms, seconds):
    environment.set_sync_delay(ms)
    time.sleep(seconds)
    environment.set_sync_delay(0)


@fault(CLOCK)
def step_clock(environment, whose, seconds, stay):
    environment.set_clock(whose if whose in environment.clocks else "server", seconds)
    time.sleep(stay)


@fault(CLOCK)
def reset_clocks(environment):
    """As after ntpd has found out."""
    for whose, clock in environment.clocks.items():
        environment.set_clock(whose, -clock.offset)


# ---- schedules ----

def random_fault(rng, kinds):
    name = rng.choice(kinds)
    return name, RANDOM_ARGUMENTS[name](rng)


RANDOM_ARGUMENTS = {
    "kill_server": lambda r: {"server": which(r), "down": r.uniform(0, 0.5)},
    "lose_server": lambda r: {"server": which(r)},
    "restart_server": lambda r: {"server": which(r)},
    "freeze_server": lambda r: {"server": which(r), "seconds": r.uniform(0.1, 3)},
    "freeze_server_long": lambda r: {"server": which(r), "seconds": r.uniform(4, 12)},
    "freeze_postgres": lambda r: {"kind": r.choice(["backend", "walwriter", "checkpointer", "postmaster"]),
                                  "seconds": r.uniform(0.1, 3)},
    "kill_postgres": lambda r: {"kind": r.choice(["backend", "backend", "walwriter", "checkpointer", "postmaster"]),
                                "which": r.randrange(8), "down": r.uniform(0, 0.5)},
    "restart_postgres": lambda r: {"how": r.choice(["immediate", "fast"]), "down": r.uniform(0, 0.5)},
    "terminate_sessions": lambda r: {},
    "cancel_statements": lambda r: {"times": r.randint(1, 8)},
    "take_connections": lambda r: {"seconds": r.uniform(0.2, 2), "terminate": r.random() < 0.7},
    "promote": lambda r: {"how": r.choice(["killed", "cut off", "cancelled"]), "late": r.uniform(0, 1)},
    "freeze_standby": lambda r: {"seconds": r.uniform(0.1, 2), "cancel": r.random() < 0.5},
    "hold_snapshot": lambda r: {},
    "maintain": lambda r: {"statement": r.choice(["vacuum full pgdisque.job", "reindex table pgdisque.job",
                                                  "vacuum freeze pgdisque.job"])},
    "power_cut": lambda r: {"held": r.uniform(0.02, 0.3), "down": r.uniform(0, 0.2)},
    "cut": lambda r: random_cut(r),
    "hold": lambda r: {"server": which(r), "kind": r.choice("SBE"), "seconds": r.uniform(0.1, 2)},
    "swallow": lambda r: {"server": which(r), "seconds": r.uniform(0.2, 1.5)},
    "drop_packets": lambda r: {"seconds": r.uniform(0.5, 20)},
    "fill_disk": lambda r: {"seconds": r.uniform(0.5, 2)},
    "slow_disk": lambda r: {"ms": r.choice([10, 50, 200]), "seconds": r.uniform(0.5, 2)},
    "step_clock": lambda r: random_step(r),
}


def which(rng):
    """One of the servers."""
    return rng.randrange(6)


def random_step(rng):
    """Postgres' clock decides about jobs. The clocks of the servers have no effect."""
    whose = rng.choice(["server", "postgres", "server1"])
    most = 4 if whose == "postgres" else 3600
    return {"whose": whose, "seconds": rng.uniform(-most, most), "stay": rng.uniform(0.5, 2)}


def random_cut(rng):
    """Often right before or behind the commit, sometimes anywhere, connecting included."""
    direction, kind, most = rng.choice([
        (TO_DATABASE, "S", 20), (TO_SERVER, "Z", 20), (TO_SERVER, "C", 60), (TO_DATABASE, "E", 60),
        (TO_DATABASE, None, 200), (TO_SERVER, None, 400), (TO_SERVER, "D", 100)])
    return {"server": which(rng), "direction": direction, "number": rng.randint(1, most), "kind": kind, "partial": rng.random() < 0.3}


def make_schedule(seed, kinds, count, peace):
    """count faults of these kinds with peace=(least, most) seconds before each."""
    rng = random.Random(seed)
    schedule = []
    for _ in range(count):
        name, args = random_fault(rng, kinds)
        schedule.append((rng.uniform(*peace), name, args))
    return schedule
