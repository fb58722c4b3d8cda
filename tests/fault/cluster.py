"""Citus: a cluster of nodes, each with a server and clients of its own, and an application that uses all nodes."""
import concurrent.futures
import contextlib
import dataclasses
import os

import citus
from environment import Failure, now_us, until
from orders import Orders
from scenario_run import Environment, ScenarioRun

COORDINATOR = 0
NAMES = ("coordinator", "worker1", "worker2")
SHARDS = 9
# A dead node leaves prepared transactions at others. Citus ends them so often.
RECOVERY = "citus.recover_2pc_interval = '2s'\n"


class Node(Environment):
    """A node, and the server of its queues."""

    def __init__(self, base, scenario, number):
        needs = tuple(need for need in scenario.needs if need != "standby" or number == scenario.node_with_standby)
        super().__init__(os.path.join(base, NAMES[number]), dataclasses.replace(scenario, needs=needs))
        self.number, self.name = number, NAMES[number]
        self.clients = None
        self.absences = []  # pairs of times: the node was away

    def settings(self):
        return (super().settings() + citus.SETTINGS + RECOVERY +
                citus.name_settings(os.path.join(self.base, "postgres")))

    def start_node(self):
        os.mkdir(self.base, 0o755)
        self.start_postgres(self.scenario.needs)
        self.postgres.sql("create extension citus")
        if "standby" in self.scenario.needs:
            self.start_standby()

    def start_servers(self, needs):
        super().start_servers(needs)
        self.servers[0].name = f"server of the {self.name}"

    def hold_commits(self):
        """They wait for a standby that does not exist."""
        self.wait_for_standby("none")

    def release_commits(self):
        self.wait_for_standby(self.pair.NAME if self.pair else "")

    def wait_for_standby(self, name):
        self.postgres.sql(f"alter system set synchronous_standby_names = '{name}'")
        self.postgres.sql("select pg_reload_conf()")

    def prepared(self):
        """The groups of the nodes whose transactions wait here for their end."""
        return {int(row[0]) for row in self.postgres.sql("select split_part(gid, '_', 2) from pg_prepared_xacts")}

    def address(self):
        """For functions of Citus."""
        return f"'{self.postgres.dir}', {citus.PORT}"


class Cluster:
    """The nodes, and the actions of faults on them."""

    def __init__(self, base, scenario):
        self.base, self.scenario = base, scenario
        self.nodes = [Node(base, scenario, number) for number in range(len(NAMES))]
        self.proxies = []
        self.orders = None

    @property
    def servers(self):
        return [server for node in self.nodes for server in node.servers]

    def live(self):
        return self.servers

    def node(self, number):
        return self.nodes[number % len(self.nodes)]

    def sql(self, text):
        return self.nodes[COORDINATOR].postgres.sql(text, timeout=120)

    def start_nodes(self):
        # The directory of Postgres' template is that above each node.
        os.symlink(os.path.join(os.path.dirname(self.base), "template"), os.path.join(self.base, "template"))
        for node in self.nodes:
            node.start_node()
            # The name of the user is that of the schema, which is for tables of pgdisque only.
            node.postgres.sql("alter database postgres set search_path = public")
        self.sql(f"select citus_set_coordinator_host({self.nodes[COORDINATOR].address()})")
        for node in self.nodes[1:]:
            self.sql(f"select citus_add_node({node.address()})")
        self.sql(f"select citus_set_node_property({self.nodes[COORDINATOR].address()}, 'shouldhaveshards', true)")

    def start(self):
        self.start_nodes()
        self.sql("create table orders (id bigint primary key)")
        self.sql(f"select create_distributed_table('orders', 'id', shard_count => {SHARDS})")
        for node in self.nodes:
            node.start_servers(node.scenario.needs)
        self.orders = Orders(self.nodes)

    def stop(self):
        """Each node is stopped with its clients."""

    def others_go_on(self, dead):
        """While a node is away, each other node adds and delivers jobs, and commits orders. Jobs of the dead node wait."""
        begin = now_us()
        self.wait_for_progress(self.without(dead))
        dead.absences.append((begin, now_us()))

    def hold_commits(self, node, others):
        """Until an order of the node has committed there, and is prepared at one of the others."""
        def is_held():
            # All orders that are held now may have rows at this node only.
            node.hold_commits()
            with contextlib.suppress(Failure):
                return until(lambda: any(node.number in other.prepared() for other in others), 2, "prepared")
            node.release_commits()

        until(is_held, 30, "an order is prepared at another node")

    def without(self, node):
        return [other for other in self.nodes if other is not node]

    def wait_for_progress(self, nodes):
        before = {node: self.progress(node) for node in nodes}
        until(lambda: all(now > then for node, old in before.items() for now, then in zip(self.progress(node), old)), 30,
              "these nodes work: " + ", ".join(node.name for node in nodes))

    def progress(self, node):
        """Jobs added, delivered and acknowledged, and orders committed."""
        return [*node.clients.figures, self.orders.committed_at(node)]

    def placements(self):
        """{shard: directory of its node}"""
        return dict(self.sql("select shardid, nodename from citus_shards where table_name = 'orders'::regclass"))

    def move_shards(self, source, target, mode):
        """All shards of a node."""
        for shard, where in self.placements().items():
            if where == source.postgres.dir:
                self.sql(f"select citus_move_shard_placement({shard}, {source.address()}, {target.address()},"
                         f" shard_transfer_mode => '{mode}')")
        self.expect(source.postgres.dir not in self.placements().values(), f"the {source.name} has no shards")

    def rebalance(self, mode):
        self.sql(f"select rebalance_table_shards('orders', shard_transfer_mode => '{mode}')")
        self.expect(len(set(self.placements().values())) == len(self.nodes), "each node has shards")

    @staticmethod
    def expect(condition, what):
        if not condition:
            raise Failure(f"not so: {what}")

    def promote(self, node):
        """Its standby takes its place, for its server and for the other nodes."""
        number = self.sql(f"select nodeid from pg_dist_node where nodename = '{node.postgres.dir}'")[0][0]
        node.promote()
        self.sql(f"select citus_update_node({number}, {node.address()})")

    def are_recovered(self):
        """Has each node ended the prepared transactions that it began, and is none left?"""
        for node in self.nodes:
            node.postgres.sql("select recover_prepared_transactions()")
        return not any(node.postgres.sql("select 1 from pg_prepared_xacts") for node in self.nodes)


class NodeRun(ScenarioRun):
    """The clients of a node. Faults of other nodes excuse nothing."""

    def __init__(self, run, node):
        super().__init__(run.scenario, run.seed + node.number, run.scale, node.base, run.say, node)

    def begin_load(self):
        super().begin_load()
        self.environment.clients = self.clients

    def judge_with(self, record):
        self.injector.record = [f for f in record if f["node"] in (None, self.environment.number)]
        self.judge()
        self.check_absences()

    def check_absences(self):
        """I1: a server commits nothing while its node is away."""
        for begin, end in self.environment.absences:
            early = [op for op in self.checker.history.ops.values()
                     if op.verb in "akfdn" and op.kind == "o" and begin < op.begin and op.end < end]
            if early:
                self.verdict.add("I1", f"{len(early)} requests succeeded without the node, the first of them {early[0]}")


class ClusterRun(ScenarioRun):
    def __init__(self, scenario, seed, scale, base, say):
        super().__init__(scenario, seed, scale, base, say, Cluster(base, scenario))
        self.runs = [NodeRun(self, node) for node in self.environment.nodes]

    def begin_load(self):
        self.clients = self.environment.orders
        self.clients.start()
        for run in self.runs:
            run.begin_load()

    def end_load(self):
        self.clients.finish()
        until(self.environment.are_recovered, 30, "no prepared transaction is left")
        until(self.clients.are_delivered, 60, "the jobs of all orders are delivered")
        self.clients.stop()
        with concurrent.futures.ThreadPoolExecutor(len(self.runs)) as pool:
            for done in [pool.submit(run.end_load) for run in self.runs]:
                done.result()

    def judge(self):
        rows = {int(row[0]) for row in self.environment.sql("select id from orders")}
        self.clients.check(rows, self.verdict)
        for run in self.runs:
            run.judge_with(self.injector.record)

    def end(self):
        super().end()
        for run in self.runs:
            run.end()
            self.verdict.merge(run.verdict, run.environment.name)
