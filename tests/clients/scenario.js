'use strict';
// The tests that every client library runs three times: without TLS, with TLS, and with a certificate. An adapter for a
// library has this form:
//   connect(port, tls) -> { call(...words) -> reply or error, close(),
//                  multi([words ...]) -> replies or error, subscribe(channel, heard(channel, message)), unsubscribe(channel) }
// tls is { ca, cert, key }, or undefined.
const assert = require('node:assert');
const fs = require('node:fs');

const ID = /^D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}$/;
const tests = [];

function test(name, run) {
  tests.push({ name, run });
}

async function rejected(promise, pattern) {
  await assert.rejects(promise, (err) => pattern.test(err.message));
}

// A flat list of pairs, or a map, as an object.
function fields(reply) {
  if (reply instanceof Map) return Object.fromEntries(reply);
  if (!Array.isArray(reply)) return { ...reply };
  const found = {};
  for (let i = 0; i < reply.length; i += 2) found[reply[i]] = reply[i + 1];
  return found;
}

async function eventually(condition) {
  const end = Date.now() + 10000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, 'did not become true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('connects and pings', async (c) => {
  assert.strictEqual(await c.call('PING'), 'PONG');
  assert.strictEqual(await c.call('ECHO', 'hello'), 'hello');
});

test('adds, gets and acknowledges a job', async (c, q) => {
  const id = await c.call('ADDJOB', q, 'body', '0');
  assert.match(id, ID);
  assert.deepStrictEqual(await c.call('GETJOB', 'FROM', q), [[q, id, 'body']]);
  assert.strictEqual(await c.call('ACKJOB', id), 1);
  assert.strictEqual(await c.call('ACKJOB', id), 0);
});

test('commands and options in lower case', async (c, q) => {
  const id = await c.call('addjob', q, 'body', '0', 'ttl', '100', 'async');
  assert.deepStrictEqual(await c.call('getjob', 'nohang', 'withcounters', 'from', q), [
    [q, id, 'body', 'nacks', 0, 'additional-deliveries', 0],
  ]);
});

test('nothing is null', async (c, q) => {
  assert.strictEqual(await c.call('GETJOB', 'NOHANG', 'FROM', q), null);
  assert.strictEqual(await c.call('GETJOB', 'TIMEOUT', '50', 'FROM', q), null);
  assert.strictEqual(await c.call('SHOW', 'D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1'), null);
});

test('describes jobs and queues', async (c, q) => {
  const id = await c.call('ADDJOB', q, 'body', '0', 'RETRY', '7');
  const job = fields(await c.call('SHOW', id));
  assert.strictEqual(job.id, id);
  assert.strictEqual(job.queue, q);
  assert.strictEqual(job.state, 'queued');
  assert.strictEqual(Number(job.retry), 7);
  const stat = fields(await c.call('QSTAT', q));
  assert.strictEqual(Number(stat.len), 1);
  assert.strictEqual(await c.call('QLEN', q), 1);
  assert.deepStrictEqual(await c.call('QPEEK', q, '10'), [[q, id, 'body']]);
});

test('waits for a job', async (c, q, connect) => {
  const worker = await connect();
  const waiting = worker.call('GETJOB', 'FROM', q);
  await eventually(async () => /blocked_clients:1\r/.test(await c.call('INFO', 'clients')));
  const id = await c.call('ADDJOB', q, 'body', '0');
  assert.deepStrictEqual(await waiting, [[q, id, 'body']]);
  await worker.close();
});

test('a body of a megabyte', async (c, q) => {
  const body = '0123456789abcdef'.repeat(65536);
  const id = await c.call('ADDJOB', q, body, '0');
  const jobs = await c.call('GETJOB', 'FROM', q);
  assert.ok(jobs[0][2] === body); // deepStrictEqual would print it
  assert.strictEqual(await c.call('ACKJOB', id), 1);
});

test('errors come as errors with their codes', async (c, q) => {
  await rejected(c.call('SHOW', 'foo'), /BADID Invalid Job ID format/);
  await rejected(c.call('ADDJOB', q, 'body', '0', 'TTL', '0'), /TTL must be a number > 0/);
  await rejected(c.call('ADDJOB', q, 'body', '0', 'REPLICATE', '5'), /NOREPL/);
  await rejected(c.call('NOTHINGLIKETHAT'), /unknown command/);
  assert.strictEqual(await c.call('PAUSE', q, 'in'), 'in');
  await rejected(c.call('ADDJOB', q, 'body', '0'), /PAUSED/);
  assert.strictEqual(await c.call('PAUSE', q, 'none'), 'none');
  assert.strictEqual(await c.call('PING'), 'PONG');
});

test('a hundred commands at once are answered in order', async (c, q) => {
  const ids = await Promise.all(Array.from({ length: 100 }, (_, i) => c.call('ADDJOB', q, String(i), '0')));
  const jobs = await c.call('GETJOB', 'COUNT', '100', 'FROM', q);
  assert.deepStrictEqual(jobs, ids.map((id, i) => [q, id, String(i)]));
  assert.strictEqual(await c.call('ACKJOB', ...ids), 100);
});

test('NACK, and the counters', async (c, q) => {
  const id = await c.call('ADDJOB', q, 'body', '0');
  await c.call('GETJOB', 'FROM', q);
  assert.strictEqual(await c.call('NACK', id), 1);
  assert.deepStrictEqual(await c.call('GETJOB', 'WITHCOUNTERS', 'FROM', q), [
    [q, id, 'body', 'nacks', 1, 'additional-deliveries', 0],
  ]);
});

test('a transaction: ack this and add that', async (c, q) => {
  const id = await c.call('ADDJOB', q, 'first', '0');
  const [acked, next, length, jobs] = await c.multi([
    ['ACKJOB', id],
    ['ADDJOB', q, 'second', '0'],
    ['QLEN', q],
    ['GETJOB', 'FROM', q],
  ]);
  assert.strictEqual(acked, 1);
  assert.match(next, ID);
  assert.strictEqual(length, 1);
  assert.deepStrictEqual(jobs, [[q, next, 'second']]);
});

test('a transaction of which one command is refused: nothing is done', async (c, q) => {
  await rejected(c.multi([['ADDJOB', q, 'a', '0'], ['ACKJOB', 'nonsense']]), /EXECABORT.*BADID/);
  assert.strictEqual(await c.call('QLEN', q), 0);
  await rejected(c.multi([['ADDJOB', q, 'a', '0'], ['PAUSE', q, 'in']]), /EXECABORT|cannot be part of a transaction/);
  assert.strictEqual(await c.call('QLEN', q), 0);
});

test('messages', async (c, q, connect) => {
  const listener = await connect();
  const heard = [];
  await listener.subscribe(q, (channel, message) => heard.push([channel, message]));
  assert.strictEqual(await c.call('PUBLISH', q, 'hello'), 1);
  await eventually(async () => heard.length > 0);
  assert.deepStrictEqual(heard, [[q, 'hello']]);
  await listener.unsubscribe(q);
  assert.strictEqual(await c.call('PUBLISH', q, 'hello'), 0);
  await listener.close();
});

test('HELLO without arguments lists the nodes', async (c) => {
  const [version, id, node] = await c.call('HELLO');
  assert.strictEqual(version, 1);
  assert.match(id, /^[0-9a-f]{40}$/);
  assert.strictEqual(node.length, 4);
  assert.strictEqual(node[0], id);
});

test('queues are keys', async (c, q) => {
  await c.call('ADDJOB', q, 'body', '0');
  assert.strictEqual(await c.call('TYPE', q), 'list');
  assert.strictEqual(await c.call('EXISTS', q, 'none'), 1);
  assert.ok((await c.call('DBSIZE')) > 0);
  assert.deepStrictEqual(await c.call('KEYS', q), [q]);
  const [cursor, names] = await c.call('SCAN', '0', 'MATCH', q, 'COUNT', '1000');
  assert.strictEqual(cursor, '0');
  assert.deepStrictEqual(names, [q]);
  assert.deepStrictEqual(await c.call('COMMAND', 'GETKEYS', 'GETJOB', 'NOHANG', 'FROM', q), [q]);
});

test('IDs as bulks', async (c, q) => {
  assert.strictEqual(await c.call('CLIENT', 'JOB-ID-REPLY', 'BULK'), 'OK');
  assert.match(await c.call('ADDJOB', q, 'body', '0'), ID);
});

test('getjob-max-block ends what would wait for ever', async (c, q) => {
  assert.strictEqual(await c.call('CONFIG', 'SET', 'getjob-max-block', '50'), 'OK');
  assert.strictEqual(await c.call('GETJOB', 'FROM', q), null);
  assert.strictEqual(await c.call('CONFIG', 'SET', 'getjob-max-block', '0'), 'OK');
});

const file = (name) => fs.readFileSync(`${process.env.CERTIFICATES}/${name}`);

const ways = [
  { name: '', port: process.env.PORT, user: 'default' },
  { name: ' with TLS', port: process.env.TLS_PORT, user: 'default', tls: () => ({ ca: file('ca.crt') }) },
  {
    name: ' with a certificate',
    port: process.env.TLS_PORT,
    user: 'alice',
    tls: () => ({ ca: file('ca.crt'), cert: file('client.crt'), key: file('client.key') }),
  },
];

async function check(name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
    return 0;
  } catch (err) {
    console.log(`not ok ${name}`);
    console.log(String(err.stack).replace(/^/gm, '#   '));
    return 1;
  }
}

async function play(library, connect) {
  let failed = 0;
  for (const [i, { name, run }] of tests.entries()) {
    failed += await check(`${library}: ${name}`, async () => {
      const c = await connect();
      try {
        await run(c, `${library}-${i}`, connect);
      } finally {
        await c.close();
      }
    });
  }
  return failed;
}

// Libraries by name, one after the other.
async function runScenario(libraries) {
  let failed = 0;
  for (const [library, connect] of Object.entries(libraries)) {
    for (const { name, port, user, tls } of ways) {
      const open = () => connect(Number(port), tls && tls());
      failed += await play(library + name, open);
      failed += await check(`${library}${name}: its user`, async () => {
        const c = await open();
        assert.strictEqual(await c.call('ACL', 'WHOAMI'), user);
        await c.close();
      });
    }
    failed += await check(`${library}: a server of an unknown authority`, () =>
      rejected(connect(Number(process.env.TLS_PORT), {}), /certificate|closed/i));
  }
  process.exit(failed ? 1 : 0);
}

module.exports = { runScenario };
