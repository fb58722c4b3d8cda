"""A scenario from its beginning to its verdict."""
import os
import re
import signal
import subprocess

import features
import requirements
from check import Checker, Verdict
from history import FOREVER, set_secret
from faults import FaultInjector
from proxy import Proxy
from environment import OLDER, SLOW, Clients, Failure, Postgres, Server, children, now_us, pg_program, until

SETTLE_S = 20
STOP_LIMIT_S = 5
RSS_LIMIT_MB = 200
# The number of jobs that a server may add to a full queue before it is told.
LATE_MOST = 5


class Environment:
    """The processes of a scenario, and the actions of faults on them."""

    def __init__(self, base, scenario):
        self.base, self.scenario = base, scenario
        self.postgres = self.pair = self.disk = self.network = self.sync = None
        self.servers, self.proxies = [], []  # each server has a proxy
        self.snapshot = None  # a session that keeps vacuum from its work
        self.clocks = {}
        self.slowest_stop = 0.0

    def start(self):
        needs = self.scenario.needs
        if "clock" in needs:
            names = ["postgres", "server", "server1"][:self.scenario.servers + 1]
            self.clocks = {name: requirements.Clock(self.base, name) for name in names}
        if "sync" in needs:
            self.sync = requirements.SlowSync(self.base)
        if "embedded" in needs:
            self.servers = [Server(self.base)]
            self.servers[0].start()
            self.postgres = EmbeddedPostgres(self.servers[0])
            self.set_up_queues()
            return
        self.start_postgres(needs)
        if "standby" in needs:
            self.start_standby()
        self.start_servers(needs)

    def start_servers(self, needs):
        for number in range(self.scenario.servers):
            if "proxy" in needs:
                self.proxies.append(Proxy(self.postgres.socket_path()))
            self.servers.append(Server(self.base, self.conninfo(), number))
            self.servers[-1].env.update(self.env(self.servers[-1].name))
            self.servers[-1].options = self.scenario.options
            if "older" in needs:
                self.servers[-1].program = OLDER
        for server in self.servers:
            server.launch()
        for server in self.servers:
            server.wait_ready()
        until(self.are_acquainted, 60, "the servers know each other")
        self.set_up_queues()

    # The QCONFIG settings of the queues LIMITED and KEPT of workload.h.
    SETTINGS = ((b"q11", "max-active", features.MAX_ACTIVE), (b"q\xff\xfe13", "retention", features.RETENTION))

    def set_up_queues(self):
        for queue, name, value in self.SETTINGS:
            self.servers[0].ask("QCONFIG", queue, "SET", name, str(value))
        if "older" not in self.scenario.needs:
            self.begin_schedules()
        until(self.queues_are_set_up, 60, "all servers know the settings of the queues")

    # Schedules of the queues SKIPPED and RENEWED of workload.h. The second lease is short, so that the job of a tick that was
    # not replaced is delivered again soon.
    SCHEDULES = ((b"q\0\xfe17", "skip", "3"), (b"\"'; 18", "replace", "1"))

    def begin_schedules(self):
        for queue, overlap, retry in self.SCHEDULES:
            self.servers[0].ask("SCHEDULE", overlap, "@every 1s", queue, "tick", "RETRY", retry, "OVERLAP", overlap)

    def schedules_are_ended(self):
        return all(self.live()[0].ask("UNSCHEDULE", overlap) in (":0", ":1") for _, overlap, _ in self.SCHEDULES)

    def queues_are_set_up(self):
        return all(str(value) in server.ask("QCONFIG", queue, "GET", name)
                   for server in self.servers for queue, name, value in self.SETTINGS)

    def are_acquainted(self):
        """IDs of jobs name their servers, with zeros for a server whose row was not read yet."""
        return all(len([node for node in server.ask("HELLO")[2:] if len(node[0]) == 40]) == len(self.servers)
                   for server in self.servers)

    def server(self, number):
        """By a number from a schedule, which need not know how many there are."""
        return self.servers[number % len(self.servers)]

    def proxy(self, number):
        return self.proxies[number % len(self.proxies)]

    def live(self):
        return [server for server in self.servers if not server.gone]

    def start_postgres(self, needs):
        settings = self.settings()
        data = None
        if "disk" in needs:
            self.disk = requirements.Disk(os.path.join(self.base, "disk"))
            data = os.path.join(self.disk.path, "postgres")
        if "network" in needs:
            self.network = requirements.Network()
            settings += "listen_addresses = '*'\n"
        self.postgres = Postgres(self.base, settings, self.env("postgres"), data,
                                 self.network.command() if self.network else None)
        if self.network:
            with open(os.path.join(self.postgres.dir, "pg_hba.conf"), "a") as f:
                f.write(f"host all all {self.network.HERE}/32 trust\n")
        self.postgres.start()

    def settings(self):
        """Of Postgres."""
        return (self.scenario.settings + ("" if self.scenario.fsync else "fsync = off\n") +
                (requirements.Pair.SETTINGS if "standby" in self.scenario.needs else ""))

    def start_standby(self):
        other = Postgres(self.base, self.scenario.settings, data=os.path.join(self.base, "standby"))
        self.pair = requirements.Pair(self.postgres, other, is_node="citus" in self.scenario.needs)
        self.pair.join()

    def promote(self):
        self.pair.promote()
        self.postgres = self.pair.first

    def env(self, who):
        env = dict(self.clocks[who].env()) if who in self.clocks else {}
        if who == "postgres" and self.sync:
            env.update(self.sync.env())
        return env

    def conninfo(self):
        where = f"host={self.postgres.dir}"
        if self.pair:
            where = "host=" + ",".join(self.pair.dirs)
        elif self.proxies:
            where = f"host=127.0.0.1 port={self.proxies[-1].port}"
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
        if self.snapshot:
            self.snapshot.close()
        for thing in [*self.servers, *self.proxies, self.postgres, self.pair and self.pair.second]:
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


class ScenarioRun:
    def __init__(self, scenario, seed, scale, base, say, environment=None):
        self.scenario, self.seed, self.scale, self.base, self.say = scenario, seed, scale, base, say
        self.schedule = scenario.schedule(seed, scale)
        self.environment = environment or Environment(base, scenario)
        self.clients = None
        self.injector = FaultInjector(self.environment, say)
        self.verdict, self.checker = Verdict(), None
        self.left = []
        self.load_end = 0

    def play(self):
        """The verdict. It includes errors before the check."""
        try:
            self.perform()
        except (Failure, OSError, subprocess.SubprocessError) as e:
            self.verdict.add("broken", str(e))
        finally:
            self.end()
        return self.verdict

    def perform(self):
        self.environment.start()
        self.begin_load()
        self.injector.run(self.schedule)
        self.injector.rest(1.5)
        until(self.counter_has_risen, 20, f"{self.scenario.counter} rises")
        self.end_load()
        self.judge()

    def begin_load(self):
        options = dict(seed=self.seed, gentle=int(self.scenario.gentle), hands=4 * self.scenario.servers)
        options.update(self.scenario.load)
        self.clients = Clients(self.base, [s.port for s in self.environment.servers], options)

    def counter_has_risen(self):
        name = self.scenario.counter
        return not name or any(int(s.info()[name]) > 0 for s in self.environment.live())

    def end_load(self):
        self.load_end = now_us()
        until(self.environment.schedules_are_ended, 20, "the schedules are ended")
        self.wait_for("stop", "stopped", 10)
        self.compare_lengths()
        self.wait_for("drain", "drained", 60)
        self.wait_for("stop", "stopped", 10)
        self.clients.stop()
        self.look_at_the_rest()

    def judge(self):
        rest = {"left": self.left, "dead": self.rows("id, deliveries", "dead_job"), "kept": self.rows("id", "retained")}
        set_secret(bytes.fromhex(self.environment.postgres.sql("select encode(key, 'hex') from pgdisque.secret")[0][0]))
        self.checker = Checker(self.clients.history, self.injector.record, rest, self.load_end, self.scenario, SLOW)
        self.checker.run(self.verdict)

    def end(self):
        for thing in (self.clients, self.environment):
            try:
                if thing:
                    thing.stop()
            except (Failure, OSError) as e:
                self.verdict.add("broken", str(e))

    def wait_for(self, word, answer, seconds):
        """Fails if the event does not come, and continues: the history shows the clients without answers."""
        self.clients.tell(word)
        try:
            until(lambda: answer in self.clients.said, seconds, f"the clients have {answer}")
        except Failure as e:
            self.verdict.add("I14", str(e))

    # ---- comparisons with the tables ----

    READY = ("select q.name, count(j.id) from pgdisque.queue q left join pgdisque.job j on j.queue_id = q.id"
             " and j.ready_at <= clock_timestamp() and j.expires_at > clock_timestamp()"
             " and j.wake_at is distinct from j.ready_at group by q.name")

    # Jobs that a server should have ended: no claim takes them, and no QLEN counts them.
    EXHAUSTED = ("select q.name, j.id, j.owner, j.deliveries, j.attempts, j.ready_at from pgdisque.job j"
                 " join pgdisque.queue q on q.id = j.queue_id"
                 " where j.ready_at <= clock_timestamp() and j.deliveries >= j.attempts")

    def lengths(self):
        """The differences of a server's QLEN or QSTAT from the table, or from another server."""
        wrong = []
        for name, count in self.environment.postgres.sql(self.READY):
            queue = bytes.fromhex(name[2:])
            told = [(s.name, s.ask("QLEN", queue), s.queue(queue)) for s in self.environment.live()]
            wrong += [f"{name} {queue}: QLEN {length}, QSTAT len {stat.get('len')}, rows {count}"
                      for name, length, stat in told if {length, stat.get("len")} != {f":{count}"}]
            for field in ("jobs-in", "jobs-out", "pause"):
                if len({stat.get(field) for _, _, stat in told}) > 1:
                    wrong.append(f"{queue}: {field} " + ", ".join(f"{name} {stat.get(field)}" for name, _, stat in told))
        return wrong

    def compare_lengths(self):
        """I11 and I9, while nothing is added or taken."""
        try:
            until(lambda: not self.lengths(), SETTLE_S, "QLEN and QSTAT agree with the table, at every server")
        except Failure as e:
            ended = [" ".join(map(str, row)) for row in self.environment.postgres.sql(self.EXHAUSTED)]
            self.verdict.add("I11", f"{e}: {'; '.join(self.lengths()[:6])}; exhausted jobs: {'; '.join(ended[:6]) or 'none'}")
        full = max((int(count) for name, count in self.environment.postgres.sql(
            "select q.name, count(*) from pgdisque.queue q join pgdisque.job j on j.queue_id = q.id"
            f" where q.name = '\\x{self.full_queue().hex()}' group by 1")), default=0)
        if full > self.most_in_full_queue():
            self.verdict.add("I9", f"{full} jobs in the queue with MAXLEN 20")

    def most_in_full_queue(self):
        """Servers are told of others' jobs a little later. The check skips servers that were cut off
        from the others, and clocks that step: a job is queued by one clock and not by the other.
        """
        others = self.scenario.servers - 1
        if self.environment.clocks or (others and not self.scenario.gentle and not self.scenario.clean):
            return FOREVER
        return 20 + LATE_MOST * others

    @staticmethod
    def full_queue():
        return b"q7"

    REST = ("select id, retry, ready_at, ready_at <= clock_timestamp() as ready, coalesce(owner::text, 'none'), deliveries,"
            " expires_at > clock_timestamp() as alive, queue_id from pgdisque.job")
    COLUMNS = ("id", "retry", "ready_at", "ready", "owner", "deliveries", "alive", "queue_id")

    def rows(self, columns, table):
        rows = self.environment.postgres.sql(f"select {columns} from pgdisque.{table}")
        return [dict(zip(columns.split(", "), row)) for row in rows]

    def rest_is_known(self):
        """All that is left was given out with RETRY 0, and not acknowledged."""
        self.left = [dict(zip(self.COLUMNS, row)) for row in self.environment.postgres.sql(self.REST)]
        return all(row["retry"] == "0" and row["ready_at"] == "infinity" for row in self.left)

    def look_at_the_rest(self):
        """I13: no rows, and no server knows of any."""
        try:
            until(self.rest_is_known, 8, "the table is empty")
        except Failure as e:
            odd = [row for row in self.left if row["retry"] != "0" or row["ready_at"] != "infinity"]
            self.verdict.add("I13", f"{e}: {len(odd)} rows, the first of them {odd[:3]}")
        for server in self.environment.live():
            self.look_at_server(server)
        if self.environment.slowest_stop > STOP_LIMIT_S * SLOW:
            self.verdict.add("I14", f"a stop by SIGTERM took {self.environment.slowest_stop:.1f} s")

    def look_at_server(self, server):
        def knows():
            return int(server.info()["registered_jobs"])

        try:
            until(lambda: knows() == len(self.left), SETTLE_S, "INFO agrees with the table")
        except Failure as e:
            self.verdict.add("I13", f"{e}: the {server.name} knows {knows()} jobs, the table {len(self.left)}")
        if server.rss_mb() > RSS_LIMIT_MB * SLOW:
            self.verdict.add("I13", f"the {server.name} takes {server.rss_mb():.0f} MB in the end")
