#!/usr/bin/python3
"""redis-py over TLS, and the examples of doc/tls.md for clients."""
import os
import pathlib
import re
import subprocess
import sys
import time

import redis

PORT, CERTIFICATES = os.environ["TLS_PORT"], os.environ["CERTIFICATES"]
DOC = pathlib.Path(__file__).resolve().parent.parent.parent / "doc" / "tls.md"
TRUST = {"ssl_ca_certs": "ca.crt"}
CERTIFICATE = {**TRUST, "ssl_certfile": "client.crt", "ssl_keyfile": "client.key"}
LIMIT_S = 120
failed = 0


def check(name, good, what=""):
    global failed
    print(f"{'ok' if good else 'not ok'} {name}", flush=True)
    if not good:
        failed = 1
        print(f"#   {what}", flush=True)


def connect(how):
    return redis.Redis(host="127.0.0.1", port=int(PORT), decode_responses=True, ssl=True, ssl_check_hostname=True,
                       **how)


# ---- redis-py ----

def wait_until_blocked(r, count):
    end = time.monotonic() + LIMIT_S
    while r.info("clients")["blocked_clients"] != count:
        if time.monotonic() > end:
            raise TimeoutError("no client waits")
        time.sleep(0.01)


def jobs(name, queue, r):
    added = r.execute_command("ADDJOB", queue, "body", 0)
    got = r.execute_command("GETJOB", "FROM", queue)
    check(f"{name}: ADDJOB, GETJOB, ACKJOB",
          got == [[queue, added, "body"]] and r.execute_command("ACKJOB", added) == 1, got)
    body = "0123456789abcdef" * 65536
    r.execute_command("ADDJOB", queue, body, 0)
    check(f"{name}: a body of a megabyte", r.execute_command("GETJOB", "FROM", queue)[0][2] == body)


def waits(name, queue, r, how):
    worker = connect(how).connection_pool.get_connection("GETJOB")
    worker.send_command("GETJOB", "FROM", queue)
    wait_until_blocked(r, 1)
    added = r.execute_command("ADDJOB", queue, "here", 0)
    got = worker.read_response()
    check(f"{name}: a wait that is served", got == [[queue, added, "here"]], got)
    worker.disconnect()


def redis_py(name, queue, how, user):
    r = connect(how)
    me = r.execute_command("ACL", "WHOAMI")
    check(f"{name}: its user", me == user, me)
    jobs(name, queue, r)
    waits(name, queue, r, how)
    pipeline = r.pipeline()
    for n in range(1000):
        pipeline.execute_command("ADDJOB", queue, n, 0)
    check(f"{name}: a pipeline of a thousand jobs", len(pipeline.execute()) == 1000)


def is_refused(how, says):
    try:
        error = f"not refused: {connect(how).ping()}"
    except redis.ConnectionError as e:
        error = str(e)
    check(f"redis-py: refused: {says}", says in error, error)


# ---- the examples ----

def examples():
    """The indented blocks below "Clients", with the address of this server."""
    text = DOC.read_text().split("## Clients\n")[1].split("\n## ")[0]
    text = text.replace("queue.example.com", "127.0.0.1").replace("7711", PORT)
    return [block.strip() for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]


def run(command, script):
    done = subprocess.run([*command, script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S)
    return done.stdout.strip()


def run_examples():
    shell, python, node = examples()
    reply = run(["sh", "-c"], shell)
    check("doc/tls.md: redis-cli", reply == "PONG", reply)
    reply = eval(python).execute_command("ACL", "WHOAMI")
    check("doc/tls.md: redis-py", reply == b"alice", reply)
    if not os.path.exists(os.path.join(os.environ["NODE_PATH"], "ioredis")):
        print("ok doc/tls.md: ioredis # SKIP ioredis is not installed")
        return
    reply = run(["node", "-e"], "const fs = require('fs'), { Redis } = require('ioredis');\n"
                f"const r = {node};\nr.call('ACL', 'WHOAMI').then(console.log).finally(() => r.disconnect());")
    check("doc/tls.md: ioredis", reply == "alice", reply)


os.chdir(CERTIFICATES)
redis_py("redis-py with TLS", "py-tls", TRUST, "default")
redis_py("redis-py with a certificate", "py-certificate", CERTIFICATE, "alice")
is_refused({}, "certificate verify failed")
is_refused({"ssl_ca_certs": "client.crt"}, "certificate verify failed")
run_examples()
sys.exit(failed)
