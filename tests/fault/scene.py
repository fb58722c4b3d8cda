"""One scenario from its beginning to its verdict."""
import os
import re
import signal
import subprocess

import places
from check import Checker, Verdict
from nemesis import Nemesis
from proxy import Proxy
from world import SLOW, Clients, Failure, Postgres, Server, children, now_us, pg_program, until

SETTLE_S = 20
STOP_LIMIT_S = 5
RSS_LIMIT_MB = 200


class World:
    """The ground of a scenario, and what faults ask of it."""

    def __init__(self, base, scenario):
        self.base, self.scenario = base, scenario
        self.postgres = self.proxy = self.disk = self.network = self.sync = self.server = None
        self.clocks = {}
        self.slowest_stop = 0.0

    def start(self):
        needs = self.scenario.needs
        if "clock" in needs:
            self.clocks = {name: places.Clock(self.base, name) for name in ("server", "postgres")}
        if "sync" in needs:
            self.sync = places.SlowSync(self.base)
        if "embedded" in needs:
            self.server = Server(self.base)
            self.server.start()
            self.postgres = EmbeddedPostgres(self.server)
            return
        self.start_postgres(needs)
        self.server = Server(self.base, self.conninfo(), self.env("server"))
        self.server.start()

    def start_postgres(self, needs):
        settings = self.scenario.settings + ("" if self.scenario.fsync else "fsync = off\n")
        data = None
        if "disk" in needs:
            self.disk = places.Disk(os.path.join(self.base, "disk"))
            data = os.path.join(self.disk.path, "postgres")
        if "network" in needs:
            self.network = places.Network()
            settings += "listen_addresses = '*'\n"
        self.postgres = Postgres(self.base, settings, self.env("postgres"), data,
                                 self.network.command() if self.network else None)
        if self.network:
            with open(os.path.join(self.postgres.dir, "pg_hba.conf"), "a") as f:
                f.write(f"host all all {self.network.HERE}/32 trust\n")
        self.postgres.start()
        if "proxy" in needs:
            self.proxy = Proxy(self.postgres.socket_path())

    def env(self, who):
        env = dict(self.clocks[who].env()) if who in self.clocks else {}
        if who == "postgres" and self.sync:
            env.update(self.sync.env())
        return env

    def conninfo(self):
        where = f"host={self.postgres.dir}"
        if self.proxy:
            where = f"host=127.0.0.1 port={self.proxy.port}"
        elif self.network:
            where = f"host={self.network.THERE} port=5432"
        return where + " user=pgdisque dbname=postgres sslmode=disable gssencmode=disable"

    def set_sync_delay(self, ms):
        self.sync.set(ms)

    def set_clock(self, whose, seconds):
        self.clocks[whose].step(seconds)

    def note_stop(self, seconds):
        self.slowest_stop = max(self.slowest_stop, seconds)

    def stop(self):
        for thing in (self.server, self.proxy, self.postgres):
            if thing:
                thing.stop()
        if self.disk:
            self.disk.remove()
        if self.network:
            self.network.remove()


class EmbeddedPostgres(Postgres):
    """The server's own: found among its children, and started again by it alone."""

    def __init__(self, server):
        self.server = server
        self.dir = os.path.join(server.dir, "postgres")
        self.log = os.path.join(server.dir, "postgres.log")
        self.process = None

    def postmaster(self):
        return next((pid for pid, title in children(self.server.process.pid).items() if "postgres" in title), None)

    def pids(self, kind):
        pid = self.postmaster()
        if pid is None:
            return []
        if kind == "postmaster":
            return [pid]
        pattern = "postgres: pgdisque " if kind == "backend" else "postgres: " + kind
        return [p for p, title in children(pid).items() if re.search(pattern, title)]

    def kill(self):
        pid = self.postmaster()
        if pid:
            os.kill(pid, signal.SIGKILL)

    def start(self):
        self.wait_ready()

    def is_ready(self):
        return subprocess.run([pg_program("pg_isready"), "-q", "-t", "2", "-h", self.dir]).returncode == 0

    def stop(self, how=None):
        pass


class Scene:
    def __init__(self, scenario, seed, scale, base, say):
        self.scenario, self.seed, self.scale, self.base, self.say = scenario, seed, scale, base, say
        self.schedule = scenario.schedule(seed, scale)
        self.world = World(base, scenario)
        self.clients = None
        self.nemesis = Nemesis(self.world, say)
        self.verdict = Verdict()
        self.left = []
        self.load_end = 0

    def play(self):
        """The verdict; what went wrong before there could be one is in it as well."""
        try:
            self.perform()
        except (Failure, OSError, subprocess.SubprocessError) as e:
            self.verdict.add("broken", str(e))
        finally:
            self.end()
        return self.verdict

    def perform(self):
        self.world.start()
        options = dict(seed=self.seed, gentle=int(self.scenario.gentle))
        options.update(self.scenario.load)
        self.clients = Clients(self.base, self.world.server.port, options)
        self.nemesis.run(self.schedule)
        self.nemesis.rest(1.5)
        self.load_end = now_us()
        self.wait_for("stop", "stopped", 10)
        self.compare_lengths()
        self.wait_for("drain", "drained", 60)
        self.wait_for("stop", "stopped", 10)
        self.clients.stop()
        self.look_at_the_rest()
        checker = Checker(self.clients.history, self.nemesis.record, self.left, self.load_end,
                          self.scenario.gentle, SLOW)
        checker.run(self.verdict)

    def end(self):
        for thing in (self.clients, self.world):
            try:
                if thing:
                    thing.stop()
            except (Failure, OSError) as e:
                self.verdict.add("broken", str(e))

    def wait_for(self, word, answer, seconds):
        """Fails when it does not come, but goes on: the history shows who was not answered."""
        self.clients.tell(word)
        try:
            until(lambda: answer in self.clients.said, seconds, f"the clients have {answer}")
        except Failure as e:
            self.verdict.add("I14", str(e))

    # ---- what is compared with the tables ----

    READY = ("select q.name, count(j.id) from pgdisque.queue q left join pgdisque.job j on j.queue_id = q.id"
             " and j.ready_at <= clock_timestamp() and j.expires_at > clock_timestamp()"
             " and j.wake_at is distinct from j.ready_at group by q.name")

    def lengths(self):
        """(queue, QLEN, rows) of all queues where the two differ."""
        rows = [(bytes.fromhex(name[2:]), int(count)) for name, count in self.world.postgres.sql(self.READY)]
        told = [(name, self.world.server.ask("QLEN", name), count) for name, count in rows]
        return [t for t in told if t[1] != f":{t[2]}"]

    def compare_lengths(self):
        """I11 and I9, while nothing is added or taken."""
        try:
            until(lambda: not self.lengths(), SETTLE_S, "QLEN agrees with the table")
        except Failure as e:
            self.verdict.add("I11", f"{e}: {self.lengths()}")
        full = max((int(count) for name, count in self.world.postgres.sql(
            "select q.name, count(*) from pgdisque.queue q join pgdisque.job j on j.queue_id = q.id"
            f" where q.name = '\\x{self.full_queue().hex()}' group by 1")), default=0)
        # Where clocks step, what is queued by one time is not by the other.
        if full > 20 and not self.world.clocks:
            self.verdict.add("I9", f"{full} jobs in the queue with MAXLEN 20")

    @staticmethod
    def full_queue():
        return b"q7"

    REST = ("select id, retry, ready_at, ready_at <= clock_timestamp() as ready, coalesce(owner::text, 'none'), deliveries,"
            " expires_at > clock_timestamp() as alive, queue_id from pgdisque.job")
    COLUMNS = ("id", "retry", "ready_at", "ready", "owner", "deliveries", "alive", "queue_id")

    def rest_is_known(self):
        """All that is left was given out with RETRY 0, and not acknowledged."""
        self.left = [dict(zip(self.COLUMNS, row)) for row in self.world.postgres.sql(self.REST)]
        return all(row["retry"] == "0" and row["ready_at"] == "infinity" for row in self.left)

    def look_at_the_rest(self):
        """I13: no rows, and the server knows of none."""
        try:
            until(self.rest_is_known, 8, "the table is empty")
        except Failure as e:
            odd = [row for row in self.left if row["retry"] != "0" or row["ready_at"] != "infinity"]
            self.verdict.add("I13", f"{e}: {len(odd)} rows, the first of them {odd[:3]}")
        info = self.world.server.info()
        if int(info["registered_jobs"]) != len(self.left):
            self.verdict.add("I13", f"INFO knows {info['registered_jobs']} jobs, the table {len(self.left)}")
        if self.world.server.rss_mb() > RSS_LIMIT_MB * SLOW:
            self.verdict.add("I13", f"the server takes {self.world.server.rss_mb():.0f} MB in the end")
        if self.world.slowest_stop > STOP_LIMIT_S * SLOW:
            self.verdict.add("I14", f"a stop by SIGTERM took {self.world.slowest_stop:.1f} s")
