"""An application on Citus: rows of a distributed table, and a job for each order, in one transaction."""
import collections
import contextlib
import itertools
import threading
import time

from environment import SLOW
from requirements import Refused, Session

QUEUE = "orders"
# The lines of an order are rows with consecutive ids, in shards of several nodes.
LINES_MOST = 3
SELLERS = 3  # of each node
# Citus commits rows of a single other node before the job. This statement adds no row, and demands two-phase commit.
TWO_PHASE = "insert into orders select 0 where false"


class Order:
    """outcome: committed, refused, or unknown, because the connection was lost in the commit."""

    def __init__(self, number, node, lines):
        self.number, self.node, self.lines = number, node, lines
        self.outcome = "refused"
        self.jobs, self.done = set(), set()  # IDs that were delivered, and acknowledged
        self.again = 0  # deliveries after the reply to the acknowledgement

    def ids(self):
        return range(self.number * LINES_MOST, self.number * LINES_MOST + self.lines)

    def text(self):
        return f"order {self.number} of {self.lines} lines at the {self.node.name}, {self.outcome}"


class Orders:
    """Sellers and packers of each node, in threads. They use the node's Postgres and its server."""

    def __init__(self, nodes):
        self.orders = {}
        self.numbers = itertools.count(1)
        self.selling, self.packing = True, True
        self.early = 0  # jobs that were delivered before all rows of their order were visible
        self.strangers = []
        self.nodes = nodes
        self.sellers = self.threads(self.sell, "selling", SELLERS)
        self.packers = self.threads(self.pack, "packing", 1)

    def threads(self, work, condition, each):
        return [threading.Thread(target=self.run, args=(work, node, condition), daemon=True)
                for node in self.nodes for _ in range(each)]

    def start(self):
        for thread in self.sellers + self.packers:
            thread.start()

    def finish(self):
        """Sells no more."""
        self.selling = False
        for thread in self.sellers:
            thread.join()

    def stop(self):
        self.selling = self.packing = False
        for thread in self.sellers + self.packers:
            if thread.ident:
                thread.join()

    def run(self, work, node, condition):
        """Works with a session, and with another one after an error."""
        while getattr(self, condition):
            with contextlib.suppress(OSError), contextlib.closing(
                    Session(node.postgres.socket_path(), timeout=30 * SLOW)) as session:
                while getattr(self, condition):
                    work(node, session)
                    time.sleep(0.03)
            time.sleep(0.05)

    # ---- the application ----

    def sell(self, node, session):
        number = next(self.numbers)
        order = self.orders[number] = Order(number, node, 1 + number % LINES_MOST)
        session.sql("begin")
        for statement in self.rows(order.ids()):
            session.sql(statement)
        session.sql(f"select pgdisque.add_job('{QUEUE}', '{number}', retry => 3)")
        order.outcome = "unknown"
        try:
            session.sql("commit")
            order.outcome = "committed"
        except Refused:
            order.outcome = "refused"
            raise

    @staticmethod
    def rows(ids):
        if len(ids) > 1:
            return [f"insert into orders select generate_series({ids[0]}, {ids[-1]})"]
        return [f"insert into orders values ({ids[0]})", TWO_PHASE]

    def pack(self, node, session):
        reply = node.servers[0].ask("GETJOB", "TIMEOUT", "200", "COUNT", "10", "FROM", QUEUE)
        for _, job, number in reply if isinstance(reply, list) else ():
            order = self.orders.get(int(number))
            if order is None:
                self.strangers.append(number)
                continue
            order.again += job in order.done
            order.jobs.add(job)
            self.finish_job(node, session, order, job)

    def finish_job(self, node, session, order, job):
        """A transaction commits at its own node first. So the application repeats a job whose order it does not see."""
        ids = ",".join(map(str, order.ids()))
        if int(session.sql(f"select count(*) from orders where id in ({ids})")[0][0]) < order.lines:
            self.early += 1
            node.servers[0].ask("NACK", job)
        elif node.servers[0].ask("ACKJOB", job) == ":1":
            order.done.add(job)

    def committed_at(self, node):
        return sum(order.node is node and order.outcome == "committed" for order in list(self.orders.values()))

    # ---- the check ----

    def are_delivered(self):
        """No node has a job of an order."""
        return not any(node.postgres.sql("select 1 from pgdisque.job join pgdisque.queue on queue.id = queue_id"
                                         f" where name = '{QUEUE}' limit 1") for node in self.nodes)

    def check(self, rows, verdict):
        """I22: the rows and the job of an order are committed together, or neither is."""
        for order in self.orders.values():
            self.check_order(order, rows, verdict)
            rows.difference_update(order.ids())
        if rows or self.strangers:
            verdict.add("I22", f"rows {sorted(rows)[:5]} and jobs {self.strangers[:5]} belong to no order")
        verdict.counts.update(collections.Counter(f"orders {order.outcome}" for order in self.orders.values()))
        verdict.counts["jobs before their orders"] = self.early

    @staticmethod
    def check_order(order, rows, verdict):
        lines, jobs = sum(number in rows for number in order.ids()), len(order.jobs)
        least, most = {"committed": (1, 1), "refused": (0, 0), "unknown": (0, 1)}[order.outcome]
        if lines not in (0, order.lines) or not least <= (lines > 0) <= most:
            verdict.add("I22", f"{order.text()} has {lines} rows")
        if jobs != (lines > 0):
            verdict.add("I22", f"{order.text()} has {lines} rows and {jobs} jobs")
        if order.again:
            verdict.add("I5", f"{order.text()}: its job was delivered after its acknowledgement")
