"""A transport for kombu, and so for Celery: messages are jobs of pgdisque.

Importing it makes URLs like pgdisque://:password@host:7711 known:

    import pgdisque_kombu
    app = Celery("tasks", broker="pgdisque://localhost:7711")

A queue of kombu is a queue of pgdisque, and a message is a job whose body is
the message as JSON. A message that a worker has taken is leased to it: for
visibility_timeout seconds, and anew while the worker lives and its main
process goes around; a worker that is gone does not keep it longer. What
exchanges and bindings there are each process knows for itself, as with Amazon
SQS, so fanout, and with it remote control of workers, is not there.

Options, in broker_transport_options:
    visibility_timeout  seconds a message is leased (RETRY), 300
    prefetch_at_once    messages one request takes at most, 100
"""
import json
import time
from queue import Empty

import redis
from kombu.transport import TRANSPORT_ALIASES, virtual

DEFAULT_PORT = 7711
# How long one request waits for messages. It is short when other channels want
# their turn, and never so long that the worker does not see that it shall end.
WAIT_S = 1.0
TURN_S = 0.05


class QoS(virtual.QoS):
    """What was delivered and not acknowledged; a delivery tag is a job's ID."""

    def ack(self, delivery_tag):
        self.channel.call("ACKJOB", delivery_tag)
        super().ack(delivery_tag)

    def reject(self, delivery_tag, requeue=False):
        self.channel.call("NACK" if requeue else "ACKJOB", delivery_tag)
        self._quick_ack(delivery_tag)

    def unacknowledged(self):
        self._flush()
        return list(self._delivered)


class Channel(virtual.Channel):
    QoS = QoS
    visibility_timeout = 300
    prefetch_at_once = 100
    from_transport_options = virtual.Channel.from_transport_options + ("visibility_timeout", "prefetch_at_once")

    def __init__(self, connection, **kwargs):
        super().__init__(connection, **kwargs)
        self._no_ack = set()
        self._leased_at = time.monotonic()
        self._server = redis.Redis(**connection.server_parameters())
        self.call("PING")

    def call(self, *words):
        return self._server.execute_command(*words)

    def close(self):
        if not self.closed:
            super().close()
            self._server.close()

    # Sending

    def _put(self, queue, message, **kwargs):
        self.call("ADDJOB", queue, json.dumps(message), 0, "RETRY", int(self.visibility_timeout),
                  "PRIORITY", self._get_message_priority(message))

    def _restore(self, message):
        self.call("NACK", message.delivery_tag)

    # Taking

    def basic_consume(self, queue, no_ack, *args, **kwargs):
        if no_ack:
            self._no_ack.add(queue)
        return super().basic_consume(queue, no_ack, *args, **kwargs)

    def basic_get(self, queue, no_ack=False, **kwargs):
        message = super().basic_get(queue, no_ack=no_ack, **kwargs)
        if message and no_ack:
            self.call("ACKJOB", message.delivery_tag)
        return message

    def _get(self, queue, timeout=None):
        for _, payload in self._take("NOHANG", "COUNT", 1, "FROM", queue):
            return payload
        raise Empty()

    def drain_events(self, timeout=None, callback=None):
        self._keep_leases()
        return super().drain_events(timeout=timeout, callback=callback)

    def _get_many(self, queues, timeout=None):
        wait = WAIT_S if self.connection.consuming_channels() < 2 else TURN_S
        wait = max(min(wait, wait if timeout is None else timeout), 0.001)
        taken = list(self._take("TIMEOUT", int(wait * 1000), "COUNT", self._room(), "FROM", *queues))
        if not taken:
            raise Empty()
        for queue, payload in taken:
            if queue in self._no_ack:
                self.call("ACKJOB", payload["properties"]["delivery_tag"])
            self.connection._deliver(payload, queue)

    def _room(self):
        room = self.qos.can_consume_max_estimate()
        return self.prefetch_at_once if room is None else max(1, min(room, self.prefetch_at_once))

    def _take(self, *words):
        for queue, job, body, _, nacks, _, again in self.call("GETJOB", "WITHCOUNTERS", *words) or ():
            payload = json.loads(body)
            payload["properties"]["delivery_tag"] = job.decode()
            payload["properties"]["delivery_info"]["redelivered"] = nacks + again > 0
            yield queue.decode(), payload

    # A lease is renewed when half of it is over: once around for all of a channel's.
    def _keep_leases(self):
        now = time.monotonic()
        if now - self._leased_at < self.visibility_timeout / 2:
            return
        self._leased_at = now
        for job in self.qos.unacknowledged():
            try:
                self.call("WORKING", job)
            except redis.ResponseError:
                pass  # It is not ours any more, or half of its TTL is over.

    # Queues

    def _size(self, queue):
        return self.call("QLEN", queue)

    def _purge(self, queue):
        purged = 0
        while True:
            jobs = [payload["properties"]["delivery_tag"] for _, payload in
                    self._take("NOHANG", "COUNT", self.prefetch_at_once, "FROM", queue)]
            if not jobs:
                return purged
            purged += self.call("ACKJOB", *jobs)


class Transport(virtual.Transport):
    Channel = Channel
    default_port = DEFAULT_PORT
    # Only when nothing may be taken at all: taking waits by itself.
    polling_interval = 0.01
    driver_type = "pgdisque"
    driver_name = "redis-py"
    connection_errors = virtual.Transport.connection_errors + (
        redis.ConnectionError, redis.TimeoutError, redis.AuthenticationError, OSError)
    channel_errors = virtual.Transport.channel_errors + (redis.ResponseError, redis.DataError)

    def driver_version(self):
        return redis.__version__

    def consuming_channels(self):
        return sum(1 for channel in self.channels if channel._consumers)

    def server_parameters(self):
        client = self.client
        found = {"host": client.hostname or "localhost", "port": client.port or self.default_port,
                 "username": client.userid or None, "password": client.password or None,
                 "health_check_interval": 0, "socket_keepalive": True}
        if client.ssl:
            found["ssl"] = True
            if isinstance(client.ssl, dict):
                found.update(client.ssl)
        return found


TRANSPORT_ALIASES["pgdisque"] = "pgdisque_kombu:Transport"
