"""The measured systems: servers driven by bench/load, SQL by pgbench, libraries by node, and the floor."""

import json
import os
import re

from lib.base import BENCH, Client, Failure, LOAD, WrongJobs, build_path, json_of, output_of, wait_until
from lib.processes import cpu_below, find, own_cpu

TITLES = {
    "pgdisque": "pgdisque",
    "pgdisque-tls": "pgdisque by TLS",
    "redis-list": "Redis list",
    "redis-stream": "Redis stream",
    "beanstalkd": "beanstalkd",
    "sql": "plain SKIP LOCKED",
    "graphile": "graphile-worker",
    "pgboss": "pg-boss",
    "floor": "bare libpq loop",
}


def options_of(settings):
    """{'producers': 16, 'overlap': True} as --producers 16 --overlap."""
    words = []
    for name, value in settings.items():
        if value is not False:
            words += [f"--{name}"] + ([] if value is True else [str(value)])
    return words


class RespTarget:
    """A server that bench/load drives, in these shapes."""

    shapes = "abcdeil"

    def __init__(self, name, kind, server, port, about):
        self.name, self.kind, self.server, self.port, self.about = name, kind, server, port, about

    def client(self):
        return Client(self.port)

    def sample(self):
        """Counters before and after a measurement."""
        return {"cpu": cpu_below(self.server.dir)}

    def load_command(self, queue, **settings):
        command = [LOAD, "--target", self.kind, "--port", str(self.port), "--json", "--queue", queue]
        return command + options_of(settings)

    def load(self, queue, **settings):
        """Runs the load generator. Returns its result with the server's costs."""
        before = self.sample()
        result = json_of(self.load_command(queue, **settings))
        if result["stale_acks"] or result["foreign"]:
            raise WrongJobs(f"{result['stale_acks']:.0f} jobs were gone when they were acknowledged,"
                            f" {result['foreign']:.0f} came from another run")
        result.update(self.spent(before, self.sample(), max(1, result["acked"] or result["added"])))
        return {key: value for key, value in result.items() if isinstance(value, (int, float))}

    def spent(self, before, after, jobs):
        return {"server_cpu_us": (after["cpu"] - before["cpu"]) * 1e6 / jobs}


class PgdisqueTarget(RespTarget):
    """Our own server: its counters, its Postgres, and its own process."""

    def __init__(self, server, port, about, database, name="pgdisque"):
        super().__init__(name, "disque", server, port, about)
        self.database = database

    def info(self, *sections):
        with self.client() as client:
            return client.info(*sections)

    def sample(self):
        return {**super().sample(), "own": own_cpu(self.server.pid), "wal": self.database.wal_bytes(),
                "info": self.info("pgdisque")}

    def spent(self, before, after, jobs):
        info = {key: value - before["info"].get(key, 0) for key, value in after["info"].items()}
        result = super().spent(before, after, jobs)
        result["own_cpu_us"] = (after["own"] - before["own"]) * 1e6 / jobs
        result["wal_bytes_per_job"] = (after["wal"] - before["wal"]) / jobs
        result["transactions_per_job"] = info["transactions"] / jobs
        result["statements_per_job"] = info["statements"] / jobs
        result["rows_per_statement"] = info["rows"] / max(1, info["statements"])
        result["rows_per_transaction"] = info["rows"] / max(1, info["transactions"])
        result["handed_over"] = info["handoffs"] / max(1, info["jobs_added"])
        return result


class TlsTarget(PgdisqueTarget):
    """The same, loaded through its TLS port. Its figures are read through the other port."""

    shapes = "abe"

    def __init__(self, plain, tls_port):
        super().__init__(plain.server, plain.port, plain.about, plain.database, "pgdisque-tls")
        self.tls_port = tls_port

    def load_command(self, queue, **settings):
        return [*super().load_command(queue, **settings), "--port", str(self.tls_port), "--tls"]


class SqlTarget:
    """The plain queue in SQL: one statement a command, driven by pgbench, each job counted."""

    name = "sql"
    CLIENTS = 50

    def __init__(self, cluster, about):
        self.cluster, self.about = cluster, about
        self.database = cluster.create("plain_queue")
        self.database.run_file(os.path.join(BENCH, "sql", "skip_locked_setup.sql"))

    def counts(self):
        """Rows added, claimed and removed so far, and existing rows."""
        query = "select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 'plain_job'"
        added, claimed, removed = (int(word) for word in self.database.ask(query).split("|"))
        return added, claimed, removed, int(self.database.ask("select count(*) from plain_job"))

    def pgbench(self, seconds):
        script = os.path.join(BENCH, "sql", "skip_locked.sql")
        command = [find("pgbench"), "-n", "-M", "prepared", "-c", str(self.CLIENTS), "-j", "2",
                   "-T", str(seconds), "-f", script, self.database.conninfo]
        text = output_of(command)
        found = re.search(r"transactions actually processed: (\d+)", text)
        tps = re.search(r"tps = ([\d.]+) \(without", text)
        if not found or not tps:
            raise Failure(f"pgbench said:\n{text}")
        return int(found.group(1)), float(tps.group(1))

    def measure(self, seconds):
        before = self.counts()
        cpu = cpu_below(self.cluster.dir)
        runs, tps = self.pgbench(max(1, round(seconds)))
        spent = cpu_below(self.cluster.dir) - cpu
        # Sessions report their figures when they end, which may be a moment later.
        wait_until(lambda: self.counts()[0] - before[0] >= runs, "all inserts of pgbench are counted", 20)
        added, claimed, removed, left = (now - then for now, then in zip(self.counts(), before))
        if added != runs or claimed != removed or left != added - removed:
            raise WrongJobs(f"{runs} runs of pgbench added {added}, claimed {claimed}, removed {removed} jobs")
        return {"through_per_s": tps * removed / runs, "added": added, "acked": removed,
                "server_cpu_us": spent * 1e6 / max(1, removed)}


class NodeTarget:
    """A queue for Node.js in its own fastest documented mode, run by its own library."""

    def __init__(self, name, peer, node, directory, cluster, about):
        self.name, self.peer, self.about = name, peer, about
        self.node, self.dir, self.cluster = node, directory, cluster
        self.database = cluster.create(name)
        self.number = 0

    def measure(self, mode, **settings):
        self.number += 1
        config = {"peer": self.peer, "connection": self.database.url, "queue": f"bench-{self.number}",
                  "mode": mode, **settings}
        cpu = cpu_below(self.cluster.dir)
        result = json_of([self.node, os.path.join(self.dir, "run.mjs"), json.dumps(config)])
        result["server_cpu_us"] = (cpu_below(self.cluster.dir) - cpu) * 1e6 / max(1, result["delivered"])
        return {key: value for key, value in result.items() if isinstance(value, (int, float))}

    def stream(self, seconds, warmup, body):
        """Adding and working at the same time; large bodies in batches of at most 4 MB."""
        batch = max(1, min(500, 4_000_000 // body))
        window = max(10, min(20_000, 64_000_000 // body))
        return self.measure("stream", seconds=seconds, warmup=warmup, body=body, batch=batch, window=window)


class FloorTarget:
    """The server's statements in a bare loop, on the peers' Postgres."""

    name = "floor"

    def __init__(self, database, directory, about):
        self.database, self.dir, self.about = database, directory, about

    def measure(self, seconds, body):
        command = [build_path("bench", "floor"), "--conninfo", self.database.conninfo, "--dir", self.dir,
                   "--seconds", str(seconds), "--body", str(body)]
        for line in output_of(command).splitlines():
            fields = json.loads(line)
            way, batch = fields.pop("way"), fields.pop("batch", None)
            yield (f"{way} {batch}" if batch else way), fields
