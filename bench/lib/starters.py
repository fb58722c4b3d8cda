"""Starts the servers and libraries, each with its version and settings. Missing ones are left out."""

import filecmp
import os
import re
import shutil
import signal
import subprocess

from lib.base import BENCH, Missing, answers, build_path, free_port, output_of, pgdisque_path, say
from lib.processes import Cluster, Database, Server, find, unprivileged_user
from lib.targets import FloorTarget, NodeTarget, PgdisqueTarget, RespTarget, SqlTarget, TITLES, TlsTarget

MAX_CLIENTS = 20000


def about(version, settings):
    return {"version": version, "settings": settings}


def installed(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Missing(f"{names[0]} is not installed")


def version_of(*command):
    return re.search(r"\d[\w.]*\.[\w.+-]+|\d+", output_of(list(command))).group(0)


def start_pgdisque(bench, name="pgdisque", more=()):
    port = free_port()
    home = os.path.join(bench.base, name)
    data = os.path.join(home, "data")
    # The load generator opens more connections than the default allows.
    argv = [pgdisque_path(), "--port", str(port), "--dir", data, "--maxclients", str(MAX_CLIENTS),
            "--enable-debug-command", "local", *more]
    server = Server("pgdisque", home, argv)
    bench.started.callback(server.stop)
    # PING is answered while the schema is being made; a queue's length only afterwards.
    server.wait_ready(lambda: answers(port, "QLEN nothing", b":"))
    database = Database(os.path.join(data, "postgres"), "pgdisque", "postgres", "pgdisque_superuser")
    target = PgdisqueTarget(server, port, None, database)
    with target.client() as client:
        fields = dict(re.findall(r"(\w+):(\S+)", client("INFO", "server", "pgdisque").decode()))
    target.about = about(f"{fields['pgdisque_version']}, commit {fields.get('disque_git_sha1', 'unknown')}",
                         f"embedded Postgres {version_of(find('postgres'), '--version')} with"
                         f" `conf/embedded-postgresql.conf`; `--maxclients {MAX_CLIENTS}`, else defaults")
    return target


def start_pgdisque_tls(bench):
    """A server of its own. The certificate has a key of the kind that doc/tls.md recommends."""
    certificate, key = (os.path.join(bench.base, f"tls.{kind}") for kind in ("crt", "key"))
    output_of([installed("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate])
    tls_port = free_port()
    plain = start_pgdisque(bench, "pgdisque-tls", [
        "--tls-port", str(tls_port), "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no"])
    plain.about["settings"] += "; `tls-port`, `tls-auth-clients no`"
    return TlsTarget(plain, tls_port)


def start_redis(target):
    def start(bench, name=target):
        program = installed("redis-server", "valkey-server")
        port = free_port()
        home = os.path.join(bench.base, name)
        settings = ["--save", "", "--appendonly", "yes", "--appendfsync", "always",
                    "--maxclients", str(MAX_CLIENTS)]
        server = Server(target, home, [program, "--port", str(port), "--dir", home, *settings])
        bench.started.callback(server.stop)
        server.wait_ready(lambda: answers(port, "PING", b"+PONG"))
        text = " ".join(word or "''" for word in settings)
        return RespTarget(target, target, server, port,
                          about(version_of(program, "--version"), f"`{text}`, else defaults"))
    return start


def start_beanstalkd(bench):
    program = installed("beanstalkd")
    port = free_port()
    home = os.path.join(bench.base, "beanstalkd")
    settings = ["-f", "0", "-z", str(4 << 20)]
    server = Server("beanstalkd", home, [program, "-l", "127.0.0.1", "-p", str(port), "-b", home, *settings])
    bench.started.callback(server.stop)
    server.wait_ready(lambda: answers(port, "stats", b"OK"))
    return RespTarget("beanstalkd", "beanstalkd", server, port,
                      about(version_of(program, "-v"), f"`-b <directory> {' '.join(settings)}`"))


def start_sql(bench):
    return SqlTarget(bench.cluster(), about(f"pgbench {version_of(find('pgbench'), '--version')}",
                                            f"{SqlTarget.CLIENTS} connections, prepared statements, unix socket;"
                                            " the same Postgres settings"))


def npm_install(directory):
    """Once per build directory; again when the lock file has changed."""
    source = os.path.join(BENCH, "peers")
    lock = os.path.join(directory, "package-lock.json")
    wanted = os.path.join(source, "package-lock.json")
    fresh = os.path.exists(lock) and filecmp.cmp(wanted, lock, shallow=False)
    if not (fresh and os.path.isdir(os.path.join(directory, "node_modules"))):
        say("installing graphile-worker and pg-boss with npm")
        os.makedirs(directory, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(source, name), directory)
        command = [installed("npm"), "ci", "--ignore-scripts", "--no-fund", "--no-audit"]
        done = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            os.unlink(lock)
            raise Missing(f"npm ci failed: {done.stderr[-500:]}")
    for name in os.listdir(source):
        if name.endswith(".mjs"):
            shutil.copy(os.path.join(source, name), directory)


def find_node(directory):
    """The node that npm installed beside the libraries, which need a recent version; else the system's."""
    for arch in ("x64", "arm64"):
        path = os.path.join(directory, "node_modules", f"node-linux-{arch}", "bin", "node")
        if os.path.exists(path):
            return path
    return installed("node")


def start_node(name, peer, package, settings):
    def start(bench):
        directory = build_path("bench", "peers")
        npm_install(directory)
        node = find_node(directory)
        with open(os.path.join(directory, "node_modules", package, "package.json"), encoding="utf-8") as f:
            version = re.search(r'"version": "([^"]+)"', f.read()).group(1)
        return NodeTarget(name, peer, node, directory, bench.cluster(),
                          about(f"{version}, node {version_of(node, '--version')}",
                                settings + "; the same Postgres settings, unix socket"))
    return start


def start_floor(bench):
    """A server makes the schema and goes again: so the floor has it as every database of ours. It has the user of
    that Postgres, because the socket is in the directory of its data."""
    cluster = bench.cluster()
    database = cluster.create("floor")
    port = free_port()
    home = os.path.join(bench.base, "floor-schema")
    argv = [pgdisque_path(), "--port", str(port), "--dir", os.path.join(home, "data"),
            "--database", database.conninfo]
    server = Server("pgdisque", home, argv, unprivileged_user())
    try:
        server.wait_ready(lambda: answers(port, "QLEN nothing", b":"))
    finally:
        server.stop(signal.SIGTERM)
    return FloorTarget(database, cluster.dir, about("`bench/floor.c`", FLOOR))


FLOOR = "one connection, unix socket, statements of `sql/queries`, binary parameters; the same Postgres settings"
GRAPHILE = "`addJobs` of 500 by 2 callers, one worker with concurrentJobs 24, localQueue 500," \
           " completeJobBatchDelay 0; single jobs (e): `addJob`, concurrentJobs 1"
PGBOSS = "`insert` of 500 by 2 callers, 2 loops of `fetch` with batchSize 1000 and `complete`, a partition for" \
         " the queue; single jobs (e): `send`, `work` with notify"

STARTERS = {
    "pgdisque": start_pgdisque,
    "pgdisque-tls": start_pgdisque_tls,
    "redis-list": start_redis("redis-list"),
    "redis-stream": start_redis("redis-stream"),
    "beanstalkd": start_beanstalkd,
    "sql": start_sql,
    "graphile": start_node("graphile", "graphile_worker", "graphile-worker", GRAPHILE),
    "pgboss": start_node("pgboss", "pg_boss", "pg-boss", PGBOSS),
    "floor": start_floor,
}


def start_fresh(bench, name):
    """Another server of the kind, without a past; the caller stops it."""
    bench.fresh += 1
    return STARTERS[name](bench, f"{name}-{bench.fresh}")


def start_all(bench, names):
    """The targets by name, and why the others are missing."""
    targets, missing = {}, {}
    for name in names:
        say(f"starting {TITLES[name]}")
        try:
            targets[name] = STARTERS[name](bench)
        except Missing as reason:
            missing[name] = str(reason)
            say(f"  left out: {reason}")
    return targets, missing


def shared_cluster(bench):
    """A function that makes the peers' Postgres when it is first wanted."""
    made = []

    def cluster():
        if not made:
            made.append(Cluster(bench.base, bench.started))
        return made[0]
    return cluster
