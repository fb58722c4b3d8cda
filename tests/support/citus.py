"""Citus beside the Postgres that the tests start, and the settings of a node."""
import os
import pathlib

# Each database with the extension has a worker process. Moves of shards use logical replication.
SETTINGS = """shared_preload_libraries = 'citus'
max_connections = 100
max_worker_processes = 32
max_prepared_transactions = 100
wal_level = logical
max_wal_senders = 10
"""
PORT = 5432


def bin_dir():
    """The directory of initdb, as bin_dir() of tests/support/postgres.c finds it."""
    chosen = os.environ.get("PG_BINDIR")
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return pathlib.Path(chosen) if chosen else found[-1].parent if found else None


def why_not():
    """Names what is missing, or is empty."""
    folder = bin_dir()
    is_there = folder is not None and (folder.parent / "lib" / "citus.so").exists()
    return "" if is_there else "Citus is not installed beside Postgres (make citus builds it)"


def name_settings(folder):
    """Each node connects to itself and to others by the sockets in their directories."""
    return f"citus.local_hostname = '{folder}'\n"
