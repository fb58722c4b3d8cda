"""The figures that bench/soak reads once a minute: tables, statements, memory, WAL."""

import glob
import os
import re

from lib.base import ROOT
from soak_server import free_bytes, private_bytes

MB = 1e6


def statement_names():
    """From the first line of a statement to the name of its file."""
    names = {}
    for path in glob.glob(os.path.join(ROOT, "sql", "queries", "*.sql")):
        with open(path, encoding="utf-8") as f:
            names[f.readline().rstrip("\n")] = os.path.basename(path)[:-len(".sql")]
    return names


class Sampler:
    """Each sample is a flat dictionary: a line of the CSV."""

    def __init__(self, server, psql, base):
        self.server, self.psql, self.base = server, psql, base
        self.names = statement_names()
        self.wal = self.jobs = 0

    def tables(self):
        sample = {}
        for table, live, dead, bytes_, index_bytes in self.psql.run("soak_tables"):
            sample.update({f"{table}_rows": int(live), f"{table}_dead": int(dead),
                           f"{table}_mb": int(bytes_) / MB, f"{table}_index_mb": int(index_bytes) / MB})
        return sample

    def statements(self):
        """Blocks are per row, or per call if calls have found less than a row. This figure must stay flat."""
        sample = {}
        for first_line, calls, rows, blocks, ms, slowest, wal in self.psql.run("soak_statements"):
            name = self.names.get(first_line)
            calls, rows = int(calls), int(rows)
            if name and calls:
                sample.update({f"{name}_calls": calls, f"{name}_rows": rows,
                               f"{name}_blocks": int(blocks) / max(calls, rows), f"{name}_ms": float(ms) / calls,
                               f"{name}_max_ms": float(slowest), f"{name}_wal": int(wal) / max(calls, rows)})
        return sample

    def memory_and_wal(self):
        wal, held, vacuum, pids = self.psql.run("soak_server")[0]
        info = self.server.info()
        jobs = info["jobs_acked"] + info["jobs_expired"]
        sample = {"snapshots": int(held), "vacuum_of": vacuum, "wal_per_job": 0.0,
                  "server_mb": private_bytes(self.server.process.pid) / MB,
                  "sessions_mb": sum(private_bytes(pid) for pid in pids.split()) / MB,
                  "free_mb": free_bytes(self.base) / MB, "claims_empty": info["claims_empty"],
                  "jobs": int(jobs)}
        if jobs > self.jobs:
            sample["wal_per_job"] = (float(wal) - self.wal) / (jobs - self.jobs)
        self.wal, self.jobs = float(wal), jobs
        return sample

    def take(self):
        return {**self.memory_and_wal(), **self.tables(), **self.statements()}


def statements_in(sample):
    return sorted(match.group(1) for match in map(re.compile("(.*)_calls$").match, sample) if match)


def tables_in(sample):
    return sorted(match.group(1) for match in map(re.compile("(.*)_index_mb$").match, sample) if match)
