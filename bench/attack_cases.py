"""The attacks of bench/attack.

An attack is a function of a target, a number of connections, and until(), which is true when the attack ends. It runs in
several processes at once.
"""

import contextlib
import itertools
import os
import select
import socket
import ssl
import subprocess
import time

from attack_swarm import Swarm
from lib.base import Client, Failure
from loop_cases import command, names

CASES = []
REPLY_SECONDS = 30
NON_READERS = 20
HEAR_SECONDS = 30
TRICKLE_SECONDS = 10
NAMES_A_COMMAND = 1000
GLOB_QUEUES = 1000
GLOB = b"a*" * 30 + b"b"
HTTP_HEAD = b" HTTP/1.1\r\nHost: localhost\r\n"
ALL_BYTES = bytes(range(256))


class Target:
    """Where the server listens, and the secret that its tenants know."""

    def __init__(self, port, tls_port, http_port, password, postgres_dir):
        self.port, self.tls_port, self.http_port = port, tls_port, http_port
        self.password, self.postgres_dir = password, postgres_dir
        self.heard = []

    def login(self):
        return command("AUTH", self.password)

    def client(self):
        client = Client(self.port, REPLY_SECONDS)
        client("AUTH", self.password)
        return client


class Case:
    def __init__(self, name, function, prepare):
        self.name, self.run, self.prepare = name, function, prepare


def case(name, prepare=None):
    """prepare: a function of the target that runs once, before the first measurement."""
    def note(function):
        CASES.append(Case(name, function, prepare))
        return function
    return note


def again(target, until, requests):
    """A logged-in client sends requests, each after the reply to the request before. Errors count as
    replies, and a lost connection is replaced."""
    while not until():
        with contextlib.suppress(OSError), target.client() as client:
            for words in requests:
                try:
                    client(*words)
                except Failure as failure:
                    if "closed" in str(failure):
                        break
                if until():
                    return


# ---- before AUTH ----


@case("arguments announced")
def many_arguments(target, count, until):
    """10,000 clients without AUTH send *1048576."""
    Swarm(target.port, count, b"*1048576\r\n").run(until)


@case("a bulk announced")
def large_bulk(target, count, until):
    """10,000 clients without AUTH send $536870912 as their first argument."""
    Swarm(target.port, count, b"*2\r\n$536870912\r\n").run(until)


@case("a line without an end")
def endless_line(target, count, until):
    """10,000 clients without AUTH send a line that never ends."""
    Swarm(target.port, count, b"x" * 16384, endless=True).run(until)


@case("PING, replies not read")
def endless_ping(target, count, until):
    """10,000 clients without AUTH send PING without end, and read nothing."""
    Swarm(target.port, count, b"PING\r\n" * 2000, endless=True, reads=False).run(until)


@case("slow loris")
def slow_loris(target, count, until):
    """10,000 clients without AUTH send a byte each ten seconds."""
    Swarm(target.port, count, command("AUTH", b"x" * 1000), trickle=TRICKLE_SECONDS).run(until)


@case("connect and leave")
def connect_and_leave(target, count, until):
    """Clients connect, send PING, and leave after the reply."""
    Swarm(target.port, count // 10, b"PING\r\n", leaves=True).run(until)


@case("wrong passwords")
def wrong_passwords(target, count, until):
    """1,000 clients send AUTH with wrong passwords, and read the replies."""
    Swarm(target.port, count // 10, command("AUTH", "wrong") * 10, endless=True).run(until)


# ---- TLS and HTTP ----


def client_hello(context):
    """The first bytes of a handshake."""
    out = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def trusting_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@case("TLS handshakes begun")
def handshakes_begun(target, count, until):
    """1,000 connections send a ClientHello, and leave after the server's reply."""
    Swarm(target.tls_port, count // 10, client_hello(trusting_context()), leaves=True).run(until)


@case("TLS connections, silent")
def handshakes_silent(target, count, until):
    """10,000 connections to tls-port send the first byte of a handshake."""
    Swarm(target.tls_port, count, b"\x16").run(until)


@case("TLS handshakes completed")
def handshakes_completed(target, _, until):
    """Clients complete a handshake, and leave."""
    context = trusting_context()
    while not until():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", target.tls_port), 10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as tls:
                tls.sendall(b"PING\r\n")


@case("HTTP requests")
def http_requests(target, count, until):
    """1,000 connections send GET /metrics without end."""
    Swarm(target.http_port, count // 10, b"GET /metrics" + HTTP_HEAD + b"\r\n", endless=True).run(until)


@case("HTTP connections, silent")
def http_silent(target, count, until):
    """10,000 connections send the beginning of an HTTP request."""
    Swarm(target.http_port, count, b"POST /api/command" + HTTP_HEAD + b"Content-Length: 9000").run(until)


# ---- a tenant ----


@case("replies not read")
def replies_not_read(target, _, until):
    """Logged-in clients send ECHO of 1 MB without end, and read nothing."""
    payload = target.login() + command("ECHO", b"x" * 1_000_000) * 4
    Swarm(target.port, NON_READERS, payload, endless=True, reads=False).run(until)


@case("all bytes")
def all_bytes(target, _, until):
    """ADDJOB, GETJOB, QLEN, KEYS with all 256 byte values in names and bodies."""
    each = [bytes([value]) for value in range(256)]
    requests = [words for name in (*each, ALL_BYTES)
                for words in (("ADDJOB", name, ALL_BYTES + name, 0), ("GETJOB", "NOHANG", "FROM", name),
                              ("QLEN", name), ("KEYS", name), (name, name), ("CLIENT", "SETNAME", name),
                              ("ACKJOB", name), ("DEL", name))]
    again(target, until, itertools.cycle(requests))


def add_glob_queues(target):
    with target.client() as client:
        for number in range(GLOB_QUEUES):
            client("ADDJOB", b"a" * (100 + number), "x", 0)


@case("glob bombs", add_glob_queues)
def glob_bombs(target, _, until):
    """KEYS, PSUBSCRIBE, PUBLISH, GETJOB with a*a*a*...b beside 1,000 names of many a."""
    def requests():
        for number in itertools.count():
            bomb = GLOB + b"%d" % (number % 1000)
            yield "KEYS", bomb
            yield "GETJOB", "NOHANG", "FROM", bomb
            yield "SCAN", "0", "COUNT", 1000, "MATCH", bomb
            yield "PUBLISH", b"a" * 4000, "x"

    with contextlib.suppress(Failure, OSError):
        listener = target.client()
        for number in range(100):
            listener("PSUBSCRIBE", GLOB + b"%d" % number)
    again(target, until, requests())


@case("hash floods")
def hash_floods(target, _, until):
    """GETJOB, SUBSCRIBE, DEL, ADDJOB with names that no client used before."""
    def requests():
        for number in itertools.count():
            some = names(b"%d-%d-" % (os.getpid(), number), NAMES_A_COMMAND)
            yield ("GETJOB", "NOHANG", "FROM", *some)
            yield ("DEL", *some)
            yield "ADDJOB", some[0], "x", 0
            yield "EXISTS", *some

    again(target, until, requests())


# ---- a role of the database ----


def psql_of(target):
    words = ["psql", "-X", "-q", "-A", "-t", "-h", target.postgres_dir, "-p", "5432", "-U", "pgdisque", "postgres"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def hear(target):
    """Payloads of the servers, as psql shows them."""
    deadline = time.monotonic() + HEAR_SECONDS
    with psql_of(target) as psql:
        psql.stdin.write(b"listen pgdisque;\n")
        while not target.heard and time.monotonic() < deadline:
            psql.stdin.write(b"select 1 \\g /dev/null\n")
            if select.select([psql.stdout], [], [], 0.2)[0]:
                text = os.read(psql.stdout.fileno(), 1 << 16)
                target.heard = [part.split(b'"')[0] for part in text.split(b'with payload "')[1:]]
        psql.kill()
    if not target.heard:
        raise Failure("no server notifies")


@case("NOTIFY replays", hear)
def notify_replays(target, _, until):
    """A role of the database repeats payloads of the servers, and sends forged ones."""
    with psql_of(target) as psql:
        psql.stdin.write(b"\\o /dev/null\n")
        while not until():
            psql.stdin.write(b"select pg_notify('pgdisque', '%s');\n"
                             b"select pg_notify('pgdisque', '1 ' || left(md5(n::text), 16) || ' ' || repeat('x', 4000))"
                             b" from generate_series(1, 1000) as n;\n" % target.heard[0].replace(b"'", b"''"))
        psql.kill()
