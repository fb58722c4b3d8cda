"""Thousands of connections of one process, each of which sends the same bytes."""

import contextlib
import errno
import itertools
import resource
import select
import socket
import struct
import time

PENDING = (errno.EINPROGRESS, errno.EAGAIN, errno.EWOULDBLOCK)
RESET = struct.pack("ii", 1, 0)
# Connections that are made between two looks at the others.
OPENED_A_TURN = 100
READ_BYTES = 1 << 16
# Files that a process needs for other things.
OTHER_FILES = 100


def files_allowed():
    """The limit of open files, which this raises as far as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard - OTHER_FILES


class Swarm:
    """Keeps a number of connections open. A connection that ends is replaced.

    endless: the payload is sent again and again. reads: replies are read. leaves: a connection ends with its first
    reply. trickle: seconds in which each connection sends one byte of the payload; 0 sends it at once.
    """

    def __init__(self, port, count, payload, endless=False, reads=True, leaves=False, trickle=0):
        self.port, self.count, self.payload = port, count, payload
        self.endless, self.reads, self.leaves, self.trickle = endless, reads, leaves, trickle
        self.poller = select.epoll()
        self.sockets, self.left = {}, {}
        self.opened = 0

    def open(self):
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if client.connect_ex(("127.0.0.1", self.port)) not in (0, *PENDING):
            client.close()
            return
        self.opened += 1
        number = client.fileno()
        self.sockets[number], self.left[number] = client, self.payload
        self.poller.register(number, self.events(not self.trickle))

    def events(self, writes):
        return select.EPOLLRDHUP | (select.EPOLLIN if self.reads else 0) | (select.EPOLLOUT if writes else 0)

    def close(self, number):
        self.poller.unregister(number)
        self.sockets.pop(number).close()
        del self.left[number]

    def write(self, number, most=1 << 20):
        """As much as the socket takes of the rest of the payload."""
        left = self.left[number] or self.payload
        left = left[self.sockets[number].send(left[:most]):]
        self.left[number] = left
        if not left and not self.endless and not self.trickle:
            self.poller.modify(number, self.events(False))

    def read(self, number):
        data = self.sockets[number].recv(READ_BYTES)
        return bool(data) and not self.leaves

    def serve(self, number, event):
        try:
            if event & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP) or (
                    event & select.EPOLLIN and not self.read(number)):
                self.close(number)
            elif event & select.EPOLLOUT:
                self.write(number)
        except BlockingIOError:
            pass
        except OSError:
            self.close(number)

    def drip(self, due):
        """Sends a byte on each of so many connections, and puts these at the end of the line."""
        for number in list(itertools.islice(self.left, due)):
            with contextlib.suppress(OSError):
                self.write(number, 1)
            self.left[number] = self.left.pop(number)

    def run(self, until):
        """until: is asked after each turn."""
        last = time.monotonic()
        while not until():
            for _ in range(min(OPENED_A_TURN, self.count - len(self.sockets))):
                self.open()
            for number, event in self.poller.poll(0.01, 1000):
                self.serve(number, event)
            due = int((time.monotonic() - last) * len(self.left) / self.trickle) if self.trickle else 0
            if due:
                self.drip(due)
                last = time.monotonic()
        for number in list(self.sockets):
            self.close(number)
