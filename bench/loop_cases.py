"""The largest requests of a single client: the cases of bench/loop.

A case is a generator. It prepares until its first yield, and does the work until it ends.
"""

import contextlib
import itertools

import socket
import threading
import time

from lib.base import Failure

SILENT_SECONDS = 3
REPLY_SECONDS = 120
NAMES_A_COMMAND = 1_000
PATTERNS_A_CLIENT = 1_000
MARKER = b"end-of-the-case"


class Disconnected(Failure):
    """By the server."""


class Sizes:
    """How much of everything there is; each is divided by the divisor."""

    def __init__(self, divisor):
        self.names = 1_000_000 // divisor
        self.commands = 100_000 // divisor
        self.patterns = 2_000 // divisor
        self.pattern_clients = max(60 // divisor, 1)
        self.clients = 10_000 // divisor
        self.returned = 60_000 // divisor
        self.lists = 20_000 // divisor
        self.ranked = 20_000 // divisor
        self.slow_names = 1_000 // divisor
        self.fields = 1_998 // divisor
        self.echo_bytes = 60_000_000 // divisor
        self.messages = max(40 // divisor, 1)
        self.message_bytes = 1_000_000
        self.listeners = 50
        self.non_readers = 20
        self.pushes = max(100 // divisor, 1)
        self.push_bytes = 1_000_000


# ---- talking ----


def command(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


def names(prefix, count):
    return [b"%s%d" % (prefix, i) for i in range(count)]


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def ask(client, *requests):
    """Sends the requests and reads until all are answered. The last bytes of the replies."""
    payload = b"".join(requests) + command("PING", MARKER)
    sender = threading.Thread(target=send_quietly, args=(client, payload), daemon=True)
    sender.start()
    tail = b""
    while not tail.endswith(MARKER + b"\r\n"):
        data = client.recv(1 << 20)
        if not data:
            raise Disconnected("the server closed the connection")
        tail = (tail + data)[-1000:] if len(data) < 1000 else data[-1000:]
    sender.join()
    return tail


def replies_of(client, payload, count):
    """Sends the payload and returns so many replies of one line each."""
    sender = threading.Thread(target=send_quietly, args=(client, payload), daemon=True)
    sender.start()
    with client.makefile("rb") as file:
        lines = [file.readline().rstrip() for _ in range(count)]
    sender.join()
    return lines


def send_quietly(client, payload):
    with contextlib.suppress(OSError):
        client.sendall(payload)


def send_for(clients, payload, seconds):
    """Sends the payload to each, as far as the server takes it within that time."""
    left = {client: memoryview(payload) for client in clients}
    deadline = time.monotonic() + seconds
    for client in clients:
        client.setblocking(False)
    while left and time.monotonic() < deadline:
        for client in list(left):
            with contextlib.suppress(BlockingIOError):
                try:
                    left[client] = left[client][client.send(left[client][:1 << 20]):]
                except ConnectionError:
                    left[client] = b""
            if not left[client]:
                del left[client]
        time.sleep(0.001)


def in_commands(words, prefix, count):
    """Commands with all names, each with as many names as allowed."""
    return [command(*words, *(b"%s%d" % (prefix, i) for i in range(first, min(first + NAMES_A_COMMAND, count))))
            for first in range(0, count, NAMES_A_COMMAND)]


def listen_to_patterns(port, sizes):
    clients = [connect(port) for _ in range(sizes.pattern_clients)]
    for number, client in enumerate(clients):
        ask(client, command("PSUBSCRIBE", *names(b"p%d-*" % number, PATTERNS_A_CLIENT)))
    return clients


def subscribe(client, word, prefix, count):
    for first in range(0, count, NAMES_A_COMMAND):
        ask(client, command(word, *(b"%s%d" % (prefix, i) for i in range(first, min(first + NAMES_A_COMMAND, count)))))


# ---- cases ----

CASES = []


class Case:
    def __init__(self, name, function, queues):
        self.name, self.run, self.queues = name, function, queues


def case(name, queues=False):
    """queues: it is about a million queues, with a job in each."""
    def note(function):
        CASES.append(Case(name, function, queues))
        return function
    return note


@case("EXEC of ADDJOBs")
def exec_many(port, sizes):
    """MULTI, 20,000 ADDJOBs, EXEC; five times."""
    client = connect(port)
    request = command("MULTI") + command("ADDJOB", "exec", "body", 0) * (sizes.commands // 5) + command("EXEC")
    yield
    ask(client, request * 5)


@case("pipeline of ADDJOBs")
def pipeline(port, sizes):
    """100,000 ADDJOBs in one write."""
    client = connect(port)
    requests = command("ADDJOB", "pipeline", "body", 0) * sizes.commands
    yield
    ask(client, requests)


@case("pipeline of PINGs")
def pings(port, sizes):
    """A million PINGs in one write."""
    client = connect(port)
    requests = command("PING") * sizes.names
    yield
    ask(client, requests)


@case("SUBSCRIBE")
def subscribe_many(port, sizes):
    """A million names in one command."""
    client = connect(port)
    request = command("SUBSCRIBE", *names(b"channel", sizes.names))
    yield
    ask(client, request)


@case("UNSUBSCRIBE")
def unsubscribe_all(port, sizes):
    """From all of a million channels."""
    client = connect(port)
    subscribe(client, "SUBSCRIBE", b"channel", sizes.names)
    yield
    ask(client, command("UNSUBSCRIBE"))


@case("PUNSUBSCRIBE")
def punsubscribe_all(port, sizes):
    """60 clients from a thousand patterns each."""
    clients = listen_to_patterns(port, sizes)
    yield
    for client in clients:
        ask(client, command("PUNSUBSCRIBE"))


@case("hang up with subscriptions")
def subscriber_leaves(port, sizes):
    """A client with a million subscriptions closes its connection."""
    client = connect(port)
    subscribe(client, "SUBSCRIBE", b"channel", sizes.names)
    yield
    client.close()
    time.sleep(1)


@case("PUBSUB CHANNELS")
def list_channels(port, sizes):
    """Of a million channels."""
    listener, client = connect(port), connect(port)
    subscribe(listener, "SUBSCRIBE", b"channel", sizes.names)
    yield
    ask(client, command("PUBSUB", "CHANNELS"), command("PUBSUB", "CHANNELS", "*9*9*9*"))


@case("PUBLISH to patterns")
def publish_to_patterns(port, sizes):
    """100 messages beside 60,000 patterns that do not fit."""
    client = connect(port)
    listeners = listen_to_patterns(port, sizes)
    yield
    ask(client, command("PUBLISH", "channel", "x") * 100)
    for listener in listeners:
        listener.close()


@case("GETJOB NOHANG")
def get_nohang(port, sizes):
    """FROM a million names, 1,000 in a command."""
    client = connect(port)
    requests = in_commands(("GETJOB", "NOHANG", "FROM"), b"queue", sizes.names)
    yield
    ask(client, *requests)


@case("GETJOB waiting")
def get_waiting(port, sizes):
    """1,000 clients wait for 1,000 names each, until a job comes for the last of them."""
    requests = in_commands(("GETJOB", "FROM"), b"awaited", sizes.names)
    clients, other = [connect(port) for _ in requests], connect(port)
    yield
    for client, request in zip(clients, requests):
        client.sendall(request)
    ask(other, command("ADDJOB", b"awaited%d" % (sizes.names - 1), "body", 0))
    clients[-1].recv(1 << 16)


@case("hang up while waiting")
def waiter_leaves(port, sizes):
    """1,000 clients that wait for 1,000 names each close their connections."""
    requests = in_commands(("GETJOB", "FROM"), b"queue", sizes.names)
    clients = [connect(port) for _ in requests]
    for client, request in zip(clients, requests):
        client.sendall(request)
    time.sleep(1)
    yield
    for client in clients:
        client.close()
    time.sleep(1)


@case("new patterns", queues=True)
def new_patterns(port, sizes):
    """Two GETJOBs NOHANG FROM 1,000 patterns beside a million queues, for three seconds."""
    client = connect(port)
    patterns = [b"queue*%d?x" % i for i in range(sizes.patterns)]
    half = sizes.patterns // 2
    yield
    client.sendall(command("GETJOB", "NOHANG", "FROM", *patterns[:half]) +
                   command("GETJOB", "NOHANG", "FROM", *patterns[half:]))
    time.sleep(SILENT_SECONDS)


@case("ADDJOB to many queues", queues=True)
def add_to_many(port, sizes):
    """A job is added to each of 100,000 queues, which changes as many counters."""
    client = connect(port)
    requests = [command("ADDJOB", b"queue%d" % i, "body", 0) for i in range(sizes.commands)]
    yield
    ask(client, *requests)
    time.sleep(3)


@case("KEYS", queues=True)
def keys(port, sizes):
    """All, and by a pattern, of a million queues."""
    client = connect(port)
    yield
    ask(client, command("KEYS", "*"), command("KEYS", "*9*9*9*"))


@case("SCAN, QSCAN", queues=True)
def scans(port, sizes):
    """A million queues in one step."""
    client = connect(port)
    yield
    ask(client, command("SCAN", "0", "COUNT", sizes.names), command("QSCAN", "BUSYLOOP"),
        command("SCAN", "0", "COUNT", sizes.names, "MATCH", "*9*9*9*"))


@case("SCAN with the worst pattern")
def worst_pattern(port, sizes):
    """1,000 queues, whose names take a millisecond each."""
    client = connect(port)
    ask(client, *(command("RPUSH", b"queue:%s%d" % (b"a" * 1_200, i), "x") for i in range(sizes.slow_names)))
    pattern = b"*" + b"a" * 1_000 + b"b"
    yield
    ask(client, command("SCAN", "0", "COUNT", sizes.names, "MATCH", pattern), command("KEYS", pattern),
        command("SSCAN", "queues", "0", "MATCH", pattern))


@case("HSET of fields that are alike")
def alike_fields(port, sizes):
    """1,998 fields of 64 KB that differ at their ends."""
    client = connect(port)
    fields = [b"a" * 65_000 + b"%d" % i for i in range(sizes.fields)]
    request = command("HSET", "host:1:0123456789ab", *itertools.chain.from_iterable((field, "x") for field in fields))
    yield
    ask(client, request)


@case("DBSIZE, RANDOMKEY, INFO", queues=True)
def whole_server(port, sizes):
    """100 of each beside a million queues."""
    client = connect(port)
    yield
    ask(client, (command("DBSIZE") + command("RANDOMKEY") + command("INFO")) * 100)


@case("MONITOR with a large ECHO")
def monitors(port, sizes):
    """3 MONITORs see an ECHO of 60 MB that has to be escaped."""
    client, watchers = connect(port), [connect(port) for _ in range(3)]
    for watcher in watchers:
        watcher.sendall(command("MONITOR"))
        watcher.recv(100)
    request = command("ECHO", b"\x01" * sizes.echo_bytes)
    yield
    ask(client, request)


@case("PUBLISH to non-readers")
def publish(port, sizes):
    """40 messages of 1 MB to 50 clients that do not read."""
    client, listeners = connect(port), [connect(port) for _ in range(sizes.listeners)]
    for listener in listeners:
        listener.sendall(command("SUBSCRIBE", "channel"))
        listener.recv(100)
    request = command("PUBLISH", "channel", b"x" * sizes.message_bytes) * sizes.messages
    yield
    ask(client, request)


@case("non-readers")
def non_readers(port, sizes):
    """20 clients pipeline ECHOs of 1 MB and never read."""
    clients = [connect(port) for _ in range(sizes.non_readers)]
    request = command("ECHO", b"x" * sizes.message_bytes) * 100
    yield
    send_for(clients, request, SILENT_SECONDS)


@case("slow clients")
def slow_clients(port, sizes):
    """10,000 clients send 60 KB of a command, and nothing more."""
    clients = [connect(port) for _ in range(sizes.clients)]
    part = b"*2\r\n$4\r\nECHO\r\n$70000\r\n" + b"x" * 60_000
    yield
    for client in clients:
        client.sendall(part)


@case("CLIENT LIST, CLIENT KILL")
def client_list(port, sizes):
    """20 lists of 10,000 clients; then all of them are killed."""
    client, listeners = connect(port), [connect(port) for _ in range(sizes.clients)]
    for listener in listeners:
        listener.sendall(command("SUBSCRIBE", "channel"))
    for listener in listeners:
        listener.recv(100)
    yield
    ask(client, command("CLIENT", "LIST") * 20, command("CLIENT", "KILL", "TYPE", "pubsub"))


@case("LPOP of returned jobs")
def pop_returned(port, sizes):
    """10 LPOPs of 1,000 from a list of which 60,000 elements were put back."""
    client = connect(port)
    for first in range(0, sizes.returned, 1000):
        ask(client, command("RPUSH", "list", *(b"%d" % i for i in range(first, min(first + 1000, sizes.returned)))))
    client.sendall(command("GETJOB", "COUNT", sizes.returned, "FROM", "list"))
    give_back(client, sizes.returned)
    yield
    ask(client, command("LPOP", "list", 1000) * 10)


def give_back(client, count):
    """NACKs the jobs of the GETJOBs that it sends, until so many have come."""
    replies = client.makefile("rb")
    seen = 0
    while seen < count:
        line = replies.readline()
        ids = []
        for _ in range(int(line[1:])):
            replies.readline()
            fields = []
            for _ in range(3):
                fields.append(replies.read(int(replies.readline()[1:]) + 2)[:-2])
            ids.append(fields[1])
        seen += len(ids)
        client.sendall(command("NACK", *ids))
        replies.readline()
        if seen < count:
            client.sendall(command("GETJOB", "NOHANG", "COUNT", count - seen, "FROM", "list"))


@case("pushes of 100 x 1 MB")
def large_pushes(port, sizes):
    """One RPUSH of 100 elements of 1 MB, then DEL."""
    client = connect(port)
    request = command("RPUSH", "large", *([b"x" * sizes.push_bytes] * sizes.pushes))
    yield
    ask(client, request)
    ask(client, command("DEL", "large"))


@case("DEL of many names")
def delete_many(port, sizes):
    """20,000 lists with an element each, and a million names that are none."""
    client = connect(port)
    lists = names(b"list", sizes.lists)
    ask(client, *(command("RPUSH", name, "x") for name in lists))
    request = command("DEL", *lists) + command("UNLINK", *names(b"no", sizes.names))
    yield
    ask(client, request)


@case("EXISTS of many names")
def exists_many(port, sizes):
    """A million names."""
    client = connect(port)
    request = command("EXISTS", *names(b"no", sizes.names))
    yield
    ask(client, request)


@case("ACKJOB of many IDs")
def ack_many(port, sizes):
    """100,000 IDs of jobs that are gone, in one command."""
    client = connect(port)
    client.sendall(command("ADDJOB", "acks", "body", 0))
    known = client.recv(1000).strip()[1:]
    request = command("ACKJOB", *itertools.repeat(known, sizes.commands))
    yield
    ask(client, request)


@case("REPRIORITIZE of many IDs")
def reprioritize_many(port, sizes):
    """20,000 ready jobs in one command."""
    client = connect(port)
    added = replies_of(client, command("ADDJOB", "ranks", "body", 0) * sizes.ranked, sizes.ranked)
    request = command("REPRIORITIZE", 5, *(line[1:] for line in added))
    yield
    ask(client, request)


@case("COMMAND DOCS")
def command_docs(port, sizes):
    """5,000 of them in one write."""
    client = connect(port)
    request = command("COMMAND", "DOCS") * (sizes.commands // 20)
    yield
    ask(client, request)


@case("INFO, QSTAT, SLOWLOG GET")
def floods(port, sizes):
    """100,000 commands in one write."""
    client = connect(port)
    ask(client, command("ADDJOB", "stat", "body", 0))
    request = (command("INFO") + command("QSTAT", "stat") * 10 + command("SLOWLOG", "GET")) * (sizes.commands // 12)
    yield
    ask(client, request)


@case("idle connections")
def connections(port, sizes):
    """10,000 connections are opened and closed."""
    yield
    clients = [connect(port) for _ in range(sizes.clients)]
    for client in clients:
        client.close()


def named(*some):
    return [next(each for each in CASES if each.run is run) for run in some]


# The commands that a tenant could run at the same time. No command undoes another.
AT_ONCE = named(exec_many, pipeline, pings, subscribe_many, unsubscribe_all, list_channels, get_nohang, get_waiting,
                keys, whole_server, monitors, publish, non_readers, large_pushes, delete_many, floods)
