"""A proxy between the server and its Postgres that knows where messages begin.

It passes messages on, counts them in both directions, and on demand breaks the
connection before the n-th one (or in its middle), holds messages back, or lets
all vanish without a word.
"""
import selectors
import socket
import struct
import threading

TO_DATABASE, TO_SERVER = "to-database", "to-server"
CHUNK = 1 << 18
SETTLED = 12


class Stream:
    """One direction of a connection: bytes that were received and not yet sent."""

    def __init__(self, source, target, direction):
        self.source, self.target, self.direction = source, target, direction
        self.data = b""
        self.ready = 0  # how often the database said that it is ready for the next
        self.waits = False  # until the target takes more
        self.started = direction == TO_SERVER
        self.out = b""

    def next_message(self, at):
        """(kind, end) of the message that begins at that place, or None. A client's first message has no kind."""
        head = 0 if not self.started else 1
        if len(self.data) - at < head + 4:
            return None
        length = struct.unpack_from("!I", self.data, at + head)[0]
        if len(self.data) - at < head + length:
            return None
        kind = chr(self.data[at]) if head else "startup"
        return kind, at + head + length


class Trap:
    """Breaks the connection before the n-th message of a direction, counted from now."""

    def __init__(self, direction, number, kind=None, partial=False):
        self.direction, self.left, self.kind, self.partial = direction, number, kind, partial
        self.sprung = threading.Event()

    def meets(self, stream, kind):
        if self.direction != stream.direction or (self.kind and kind != self.kind):
            return False
        self.left -= 1
        return self.left <= 0


class Proxy:
    def __init__(self, upstream):
        self.upstream = upstream  # path of a unix socket, or (host, port)
        self.selector = selectors.DefaultSelector()
        self.lock = threading.RLock()
        self.traps, self.streams = [], []
        self.half_open = []  # a side has closed, and the other side gets no FIN
        self.hold_kind, self.holding = None, threading.Event()
        self.swallowing = False
        self.messages, self.cuts, self.connections = 0, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.waker, self.wakened = socket.socketpair()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.selector.register(self.wakened, selectors.EVENT_READ, "wake")
        self.stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- actions for faults ----

    def arm(self, trap):
        with self.lock:
            self.traps.append(trap)
        return trap

    def disarm(self):
        with self.lock:
            self.traps.clear()

    def hold(self, kind):
        """From the next message of that kind on the server sends, nothing reaches the database."""
        with self.lock:
            self.holding.clear()
            self.hold_kind = kind

    def release(self):
        with self.lock:
            self.hold_kind = None
            self.holding.clear()
            self.waker.send(b"x")

    def swallow(self, on):
        """While on, the proxy reads all bytes and sends none. Connections made before stay polls."""
        with self.lock:
            self.swallowing = on
            for stream in self.streams if on else []:
                stream.deaf = True

    def cut_all(self):
        with self.lock:
            for stream in list(self.streams):
                self.cut(stream)

    def is_settled(self):
        """True if a connection carries transactions after its start."""
        with self.lock:
            return any(s.direction == TO_SERVER and s.ready >= SETTLED and not s.deaf for s in self.streams)

    def stop(self):
        self.stopping = True
        self.waker.send(b"x")
        self.thread.join()
        self.cut_all()
        self.listener.close()

    # ---- the loop ----

    def run(self):
        while not self.stopping:
            for key, events in self.selector.select():
                with self.lock:
                    self.handle(key, events)

    def handle(self, key, events):
        if key.data is None:
            self.accept()
        elif key.data == "wake":
            self.wakened.recv(4096)
            for stream in list(self.streams):
                self.pass_on(stream)
        elif key.data in self.streams:
            self.serve(key.data, events)

    def accept(self):
        server, _ = self.listener.accept()
        database = socket.socket(socket.AF_UNIX if isinstance(self.upstream, str) else socket.AF_INET)
        try:
            database.connect(self.upstream)
        except OSError:
            server.close()
            database.close()
            return
        self.connections += 1
        there, back = Stream(server, database, TO_DATABASE), Stream(database, server, TO_SERVER)
        for stream, other in ((there, back), (back, there)):
            stream.other = other
            stream.deaf = self.swallowing
            stream.source.setblocking(False)
            self.streams.append(stream)
            self.selector.register(stream.source, selectors.EVENT_READ, stream)

    def serve(self, stream, events):
        if events & selectors.EVENT_WRITE:
            self.write(stream.other)
        if not events & selectors.EVENT_READ or stream not in self.streams:
            return
        try:
            got = stream.source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        if not got:
            if stream.deaf:
                self.forget(stream)
                self.half_open.append(stream)
            else:
                self.cut(stream, reset=False)
        elif not stream.deaf:
            stream.data += got
            self.pass_on(stream)

    def pass_on(self, stream):
        """All whole messages up to the first that a trap or a hold stops."""
        at = 0
        while (found := stream.next_message(at)) is not None:
            kind, end = found
            if self.is_held(stream, kind):
                break
            trap = next((t for t in self.traps if t.meets(stream, kind)), None)
            if trap:
                self.spring(trap, stream, at + (end - at) // 2 if trap.partial else at)
                return
            stream.started = True
            self.messages += 1
            stream.ready += kind == "Z"
            at = end
        stream.out += stream.data[:at]
        stream.data = stream.data[at:]
        self.write(stream)

    def is_held(self, stream, kind):
        if self.hold_kind is None or stream.direction != TO_DATABASE:
            return False
        if kind == self.hold_kind:
            self.holding.set()
        return self.holding.is_set()

    def spring(self, trap, stream, at):
        self.traps.remove(trap)
        try:
            stream.target.sendall(stream.out + stream.data[:at])
        except OSError:
            pass
        self.cut(stream)
        trap.sprung.set()

    def write(self, stream):
        try:
            while stream.out:
                sent = stream.target.send(stream.out)
                stream.out = stream.out[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.cut(stream)
            return
        if stream.waits != bool(stream.out):
            stream.waits = bool(stream.out)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if stream.waits else 0)
            self.selector.modify(stream.target, events, stream.other)

    def forget(self, stream):
        for one in (stream, stream.other):
            if one in self.streams:
                self.streams.remove(one)
                self.selector.unregister(one.source)

    def cut(self, stream, reset=True):
        if stream not in self.streams:
            return
        self.cuts += reset
        self.forget(stream)
        for one in (stream, stream.other):
            if reset and one.source.family == socket.AF_INET:
                one.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.source.close()
