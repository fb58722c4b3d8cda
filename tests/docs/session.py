"""Plays a session of redis-cli from a document, and compares the replies with the document's."""
import re
import shlex
import socket
import time

JOB_ID = r"D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}"
NODE_ID = r"\b[0-9a-f]{40}\b"
# Times, sizes, ports and process numbers. Small numbers are exact, except in the replies of LOOSE.
NUMBER = r"\d{4,}"
LOOSE_NUMBER = r"\d{2,}"
LOOSE = ("CLIENT", "HEALTH", "HELLO", "MEMORY", "COMMAND", "MONITOR", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME")
# A process may be stopped at any time, so these may count more than the document shows.
ANY_NUMBER = ("SLOWLOG", "LATENCY")
# The number in the line after one of these names is a time.
TIMES = ('"age"', '"idle"', '"oldest-ms"')
# The replies depend on the machine and on the past minutes. They only must be no errors.
ANY_REPLY = ("DOCTOR", "HISTORY")
RAW = ("INFO", "METRICS", "CLUSTER NODES", "CLUSTER INFO", "CLIENT INFO", "CLIENT LIST", "LATENCY GRAPH", "LATENCY DOCTOR")
# The order of the names in these replies is not defined.
UNORDERED = ("KEYS", "SCAN", "QSCAN")
OTHER = "# another client: "
LATER = re.compile(r"# .* later")
READING = "Reading messages... (press Ctrl-C to quit)"


class Wrong(Exception):
    """A reply differs from the document; the text has both."""


class Status(str):
    """A status reply."""


class Failure(str):
    """An error reply."""


class Connection:
    """Speaks RESP2 and RESP3, as far as the server replies it."""

    def __init__(self, port, timeout):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def send(self, words):
        parts = [word if isinstance(word, bytes) else word.encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return Status(rest.decode(errors="replace"))
        if kind == b"-":
            return Failure(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind in (b"$", b"="):
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind in (b"*", b">", b"~"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise Wrong(f"a reply of an unknown kind: {line!r}")

    def call(self, *words):
        self.send(words)
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()


def quoted(data):
    named = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x07: "\\a", 0x08: "\\b"}
    return '"' + "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + '"'


def shown(reply, prefix=""):
    """The lines that redis-cli prints on a terminal."""
    if reply is None:
        return ["(nil)"]
    if isinstance(reply, Failure):
        return [f"(error) {reply}"]
    if isinstance(reply, Status):
        return [str(reply)]
    if isinstance(reply, int):
        return [f"(integer) {reply}"]
    if isinstance(reply, bytes):
        return [quoted(reply)]
    if not reply:
        return ["(empty array)" if isinstance(reply, list) else "(empty hash)"]
    lines, width = [], len(str(len(reply)))
    pairs = [("", r) for r in reply] if isinstance(reply, list) else [(shown(k)[0] + " => ", v) for k, v in reply.items()]
    for n, (key, element) in enumerate(pairs, 1):
        head = f"{n:>{width}}{')' if isinstance(reply, list) else '#'} {key}"
        inner = shown(element)
        lines += [head + inner[0], *(" " * (width + 2) + line for line in inner[1:])]
    return lines


def number_pattern(command, before):
    """The numbers of a line that match any number. before is the line before it."""
    name = command[0].upper()
    if name in ANY_NUMBER or before.endswith(TIMES):
        return r"(?<=integer\) )\d+"
    return LOOSE_NUMBER if name in LOOSE else NUMBER


def pattern(want, i, names, command):
    """Line i as a regular expression. The first match of an ID in the document gives the ID its real value."""
    line, number = want[i], number_pattern(command, want[i - 1] if i else "")
    parts, groups = [], []
    for n, text in enumerate(re.split(rf"({JOB_ID}|{NODE_ID}|{number}|[a-z-]+=\S*(?= |$))", line)):
        if re.fullmatch(f"{JOB_ID}|{NODE_ID}", text):
            known = names.get(text)
            parts.append(re.escape(known) if known else f"({JOB_ID if text[0] == 'D' else NODE_ID})")
            groups += [] if known else [text]
        elif n % 2 and text.isdigit():
            parts.append(r"\d+")
        elif " ".join(command[:2]).upper() in RAW and re.fullmatch(r"[a-z-]+=\S*", text):
            parts.append(re.escape(text.split("=")[0]) + r"=\S*")
        else:
            parts.append(re.escape(text))
    return re.compile("".join(parts)), groups


def compare(want, have, names, command):
    """Compares lines. A line `...` in the document stands for any lines."""
    i = j = 0
    while i < len(want):
        if want[i].strip() == "...":
            i += 1
            if i == len(want):
                return
            while j < len(have) and not pattern(want, i, names, command)[0].fullmatch(have[j]):
                j += 1
        if j >= len(have):
            break
        expression, groups = pattern(want, i, names, command)
        found = expression.fullmatch(have[j])
        if not found:
            break
        names.update(zip(groups, found.groups()))
        i, j = i + 1, j + 1
    if i < len(want) or j < len(have):
        raise Wrong("the document has\n" + "\n".join(want) + "\nand the server replies\n" + "\n".join(have))


def compare_reply(want, reply, names, command):
    have = lines_of(reply, command)
    if command[0].upper() in ANY_REPLY and not isinstance(reply, Failure):
        return
    if command[0].upper() in UNORDERED:
        want, have = ([re.sub(r"\d+\) ", "", line).strip() for line in lines] for lines in (want, have))
        want, have = sorted(want), sorted(have)
    compare(want, have, names, command)


def lines_of(reply, command):
    head = " ".join(command[:2]).upper()
    if isinstance(reply, bytes) and (head in RAW or command[0].upper() in RAW):
        return reply.decode(errors="replace").replace("\r", "").rstrip("\n").split("\n")
    return shown(reply)


class Player:
    """The connection of one section: its sessions continue each other."""

    def __init__(self, server, timeout=60):
        self.server, self.timeout, self.names = server, timeout, {}
        self.connection = Connection(server.port, timeout)

    def real(self, text):
        for written, real in self.names.items():
            text = text.replace(written, real)
        return text

    def play(self, lines):
        """Each command is followed by the lines of its reply."""
        steps, later = [], False
        for line in lines:
            prompt = re.match(r"(?:127\.0\.0\.1:7711)?> (.*)", line)
            if prompt:
                steps.append((prompt[1], [], later))
                later = False
            elif LATER.fullmatch(line):
                later = True
            elif steps and line != READING:
                steps[-1][1].append(line)
        for command, want, later in steps:
            try:
                self.repeat(command, want) if later else self.step(command, want)
            except Wrong as wrong:
                raise Wrong(f"> {command}\n{wrong}") from None
            except (OSError, EOFError) as error:
                raise Wrong(f"> {command}\n{error or 'the server has closed the connection'}") from None

    def error_of(self, block):
        """Plays a block. None, or the difference between its replies and those of the server."""
        try:
            self.play(block.lines)
        except Wrong as wrong:
            return f"{block}\n{wrong}"
        return None

    def repeat(self, command, want):
        """Sends the command until its reply is that of the document."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return self.step(command, want)
            except Wrong:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def step(self, command, want):
        """A line of another client stands before the command that waits for it, or before the message that it causes."""
        words = shlex.split(self.real(command))
        if words[0].upper() == "SHUTDOWN" and not want:
            self.connection.send(words)
            self.server.restart()
            self.connection = Connection(self.server.port, self.timeout)
            return
        self.connection.send(words)
        while want and want[-1].strip() == "":
            want = want[:-1]
        others = [n for n, line in enumerate(want) if line.startswith(OTHER)] + [len(want)]
        compare_reply(want[:others[0]], self.connection.read(), self.names, words)
        for start, end in zip(others, others[1:]):
            self.other(want[start][len(OTHER):])
            if end > start + 1:
                compare_reply(want[start + 1:end], self.connection.read(), self.names, words)

    def other(self, command):
        with_client = Connection(self.server.port, self.timeout)
        with_client.call(*shlex.split(self.real(command)))
        with_client.close()

    def close(self):
        self.connection.close()
