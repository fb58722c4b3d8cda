#!/usr/bin/python3
"""Pipelines of redis-py, which are transactions unless told otherwise, and its listeners."""
import os
import sys

import redis

PORT = int(os.environ["PORT"])
failed = 0


def check(name, good, what=""):
    global failed
    print(f"{'ok' if good else 'not ok'} redis-py: {name}")
    if not good:
        failed = 1
        print(f"#   {what}")


def refused(pipeline):
    try:
        return f"not refused: {pipeline.execute()}"
    except redis.RedisError as error:
        return f"{type(error).__name__}: {error}"


r = redis.Redis(port=PORT, decode_responses=True)

with r.pipeline() as p:
    for n in range(1000):
        p.execute_command("ADDJOB", "py", n, 0)
    ids = p.execute()
check("a pipeline of a thousand jobs", len(ids) == 1000 and all(i.startswith("D-") for i in ids), ids[:3])

with r.pipeline() as p:
    p.execute_command("ACKJOB", *ids[:500])
    p.execute_command("ADDJOB", "py-next", "x", 0)
    p.execute_command("GETJOB", "FROM", "py-next")
    p.execute_command("QLEN", "py")
    acked, added, jobs, left = p.execute()
check("ack these and add that", (acked, jobs, left) == (500, [["py-next", added, "x"]], 500), (acked, jobs, left))

with r.pipeline() as p:
    p.execute_command("ADDJOB", "py-none", "x", 0)
    p.execute_command("ADDJOB", "py", "x", 0, "MAXLEN", 1)
    error = refused(p)
check("a full queue refuses all", "MAXLEN" in error and r.execute_command("QLEN", "py-none") == 0, error)

with r.pipeline() as p:
    p.execute_command("ADDJOB", "py-none", "x", 0)
    p.execute_command("NOSUCH")
    error = refused(p)
check("an unknown command refuses all", "unknown command" in error and r.execute_command("QLEN", "py-none") == 0, error)

with r.pipeline(transaction=False) as p:
    p.execute_command("ADDJOB", "py-plain", "x", 0)
    p.execute_command("QLEN", "py-plain")
    replies = p.execute()
check("a pipeline without a transaction", replies[1] == 1, replies)

with r.pipeline() as p:
    try:
        p.watch("py")
        error = "not refused"
    except redis.ResponseError as e:
        error = str(e)
check("WATCH is refused", error.startswith("NOTSUPPORTED WATCH is not supported"), error)

# As KEDA's redis scaler has it (pkg/scalers/redis_scaler.go, 2.17).
KEDA = """
\t\tlocal listName = KEYS[1]
\t\tlocal listType = redis.call('type', listName).ok
\t\tlocal cmd = {
\t\t\tzset = 'zcard',
\t\t\tset = 'scard',
\t\t\tlist = 'llen',
\t\t\thash = 'hlen',
\t\t\tnone = 'llen'
\t\t}

\t\treturn redis.call(cmd[listType], listName)
\t"""
length = r.register_script(KEDA)
r.rpush("py-script", "a", "b")
check("a known script", length(keys=["py-script"]) == 2 and r.eval(KEDA, 1, "py-none") == 0, length(keys=["py-script"]))
check("it is loaded", r.script_load(KEDA) == length.sha and r.script_exists(length.sha, "0" * 40) == [True, False])
LOGSTASH = (
    "      local batchsize = tonumber(ARGV[1])\n"
    "      local result = redis.call('lrange', KEYS[1], 0, batchsize)\n"
    "      redis.call('ltrim', KEYS[1], batchsize + 1, -1)\n"
    "      return result\n"
)
r.rpush("py-logstash", "a", "b", "c")
batch = r.script_load(LOGSTASH)
got = [r.evalsha(batch, 1, "py-logstash", 1) for _ in range(3)]
check("Logstash's batches", got == [["a", "b"], ["c"], []], got)
try:
    r.register_script("return redis.call('incr', KEYS[1])")(keys=["py-script"])
    error = "not refused"
except redis.ResponseError as e:
    error = str(e)
check("another script is refused", "does not know this script" in error and error.endswith("incr"), error)

# Without a name it says nothing by which it could be told from a client of Disque.
with redis.Redis(port=PORT, decode_responses=True, client_name="py-monitor").monitor() as m:
    r.ping()
    seen = next(c for c in m.listen() if c["command"] == "PING")
check("what others do", seen["db"] == 0 and seen["client_type"] == "tcp", seen)

listener = r.pubsub(ignore_subscribe_messages=True)
listener.subscribe("py")
listener.psubscribe("p?")
listener.get_message(timeout=5)
listener.get_message(timeout=5)
count = r.publish("py", "hello")
heard = sorted((m["type"], m["data"]) for m in (listener.get_message(timeout=5) for _ in range(2)) if m)
check("messages", count == 2 and heard == [("message", "hello"), ("pmessage", "hello")], (count, heard))
check("who listens", r.pubsub_numsub("py") == [("py", 1)] and r.pubsub_numpat() == 1, r.pubsub_numsub("py"))
listener.close()

sys.exit(failed)
