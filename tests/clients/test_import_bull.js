'use strict';
// Jobs of Bull and BullMQ, put there and taken by these themselves, come by pgdisque import.
const assert = require('assert');
const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const Redis = require('ioredis-5');

const BINARY = process.env.PGDISQUE || path.join(__dirname, '..', '..', 'pgdisque');
const SLOW = Number(process.env.PGDISQUE_TEST_SLOW) ? 5 : 1;
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
let port;
let there;
let here;

// A worker that takes a job and never ends it. Its locks last for a second.
const WORKERS = {
  bull: `const Queue = require('bull');
    new Queue('held', { redis: { port: PORT }, settings: { lockDuration: 1000, lockRenewTime: 400 } })
      .process('*', () => new Promise(() => { console.log('taken'); }));`,
  bullmq: `const { Worker } = require('bullmq');
    new Worker('held', () => new Promise(() => { console.log('taken'); }),
      { connection: { port: PORT, maxRetriesPerRequest: null }, lockDuration: 1000 });`,
};

const QUEUES = {
  bull: (name) => new (require('bull'))(name, { redis: { port } }),
  bullmq: (name) => new (require('bullmq').Queue)(name, { connection: { port } }),
};

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
}

async function eventually(condition) {
  for (const end = Date.now() + 30000 * SLOW; !await condition(); await pause(50)) {
    assert(Date.now() < end, `never became true: ${condition}`);
  }
}

function move(status, kind, ...words) {
  const done = spawnSync(BINARY, ['import', '--table', `redis://127.0.0.1:${port}`, '--to', `127.0.0.1:${process.env.PORT}`,
    '--queue-prefix', `${kind}:`, '--kind', kind, ...words], { encoding: 'utf8' });
  assert.strictEqual(done.status, status, done.stdout + done.stderr);
  return done.stdout;
}

async function take(queue) {
  const jobs = await here.call('GETJOB', 'NOHANG', 'FROM', queue);
  if (!jobs) return null;
  const shown = await here.call('SHOW', jobs[0][1]);
  await here.call('ACKJOB', jobs[0][1]);
  const field = (name) => (shown.includes(name) ? shown[shown.indexOf(name) + 1] : undefined);
  return { ...JSON.parse(jobs[0][2]), priority: field('priority'), attempts: field('attempts') };
}

// The order is theirs: those without a priority, then 1, then 2; of lifo the last.
async function testQueue(kind) {
  const queue = QUEUES[kind]('mail');
  await queue.add('first', { text: 'a"b\u00e4', n: [1, { x: null }] }, { attempts: 4 });
  await queue.add('second', { n: 2 });
  await queue.add('urgent', { n: 3 }, { lifo: true });
  await queue.add('low', { n: 4 }, { priority: 20 });
  await queue.add('high', { n: 5 }, { priority: 1 });
  await queue.add('later', { n: 6 }, { delay: 3600000, attempts: 2 });
  await queue.pause();
  await queue.add('paused', { n: 7 });
  assert.match(move(0, kind, '--dry-run', 'mail'), /1\tbull:mail:delayed/);
  assert.match(move(0, kind, '--batch', '2', 'mail'), /7 tasks moved/);
  const names = [];
  for (let job = await take(`${kind}:mail`); job; job = await take(`${kind}:mail`)) {
    names.push(job.name);
    if (job.name === 'first') {
      assert.deepStrictEqual(job.data, { text: 'a"b\u00e4', n: [1, { x: null }] });
      assert.strictEqual(job.attempts, 4);
      assert.strictEqual(job.opts.attempts, 4);
    }
    if (job.name === 'low') assert.strictEqual(job.priority, 235);
  }
  assert.deepStrictEqual(names, ['urgent', 'first', 'second', 'paused', 'high', 'low']);
  const [, delayed] = await here.call('JSCAN', '0', 'QUEUE', `${kind}:mail`, 'STATE', 'active', 'REPLY', 'ALL');
  assert.strictEqual(delayed.length, 1);
  const delay = delayed[0][delayed[0].indexOf('delay') + 1];
  assert(delay > 3000 && delay <= 3601, `delay ${delay}`);
  await eventually(async () => (await there.keys('bull:mail:[0-9]*')).length === 0);
  await queue.resume();
  await queue.close();
}

// A running job stays until the worker is dead and its lock has ended. Then it moves with the tries that are left.
async function testHeld(kind) {
  const queue = QUEUES[kind]('held');
  await queue.add('held', { n: 1 }, { attempts: 3 });
  const worker = spawn(process.execPath, ['-e', WORKERS[kind].replace('PORT', port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => { worker.stdout.once('data', resolve); });
  assert.match(move(0, kind, 'held'), /0 tasks moved/);
  worker.kill('SIGKILL');
  await eventually(async () => (await there.keys('bull:held:*:lock')).length === 0);
  assert.match(move(0, kind, 'held'), /1 tasks moved/);
  assert.deepStrictEqual((await take(`${kind}:held`)).data, { n: 1 });
  assert.strictEqual(await there.llen('bull:held:active'), 0);
  await queue.close();
}

// The import refuses recurring jobs and jobs that a parent waits for.
async function testRefused(kind) {
  const queue = QUEUES[kind]('odd');
  await queue.add('again', { n: 1 }, { repeat: { every: 3600000 } });
  let refused = 1;
  if (kind === 'bullmq') {
    const { FlowProducer } = require('bullmq');
    const flow = new FlowProducer({ connection: { port } });
    await flow.add({ name: 'parent', queueName: 'odd', children: [{ name: 'child', queueName: 'odd', data: {} }] });
    await flow.close();
    refused = 2;
  }
  const waiting = await there.exists('bull:odd:delayed');
  assert.match(move(1, kind, 'odd'), new RegExp(`0 tasks moved\n${refused} tasks were not understood`), `${waiting}`);
  assert.strictEqual(await take(`${kind}:odd`), null);
  await queue.close();
}

// The lines of doc/migrating.md that move jobs back, for this queue of pgdisque.
function linesOfPage(name) {
  const text = fs.readFileSync(path.join(__dirname, '..', '..', 'doc', 'migrating.md'), 'utf8');
  const [block] = text.match(/^ {4}for \(let jobs;.*\n(?: {4}.*\n)*/m);
  const AsyncFunction = (async () => {}).constructor;
  return new AsyncFunction('redis', 'queue', block.replace("'mail'", `'${name}'`));
}

// Done twice, as if it had been interrupted.
async function testBack(kind) {
  const queue = QUEUES[kind]('back');
  await queue.add('go', { n: 1 }, { attempts: 3 });
  assert.match(move(0, kind, 'back'), /1 tasks moved/);
  const [[, , body]] = await here.call('QPEEK', `${kind}:back`, '1');
  for (let i = 0; i < 2; i++) {
    await linesOfPage(`${kind}:back`)(here, queue);
    await here.call('ADDJOB', `${kind}:back`, body, '0');
  }
  const waiting = await queue.getWaiting();
  assert.deepStrictEqual(waiting.map((job) => [job.name, job.data, job.opts.attempts]), [['go', { n: 1 }, 3]]);
  await queue.close();
}

async function main() {
  port = await freePort();
  const server = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1', '--dir', os.tmpdir()], { stdio: 'ignore' });
  there = new Redis(port, '127.0.0.1');
  there.on('error', () => {});
  here = new Redis(Number(process.env.PORT), '127.0.0.1');
  let failed = false;
  for (const kind of ['bull', 'bullmq']) {
    for (const test of [testQueue, testHeld, testRefused, testBack]) {
      await there.flushall();
      try {
        await test(kind);
        console.log(`ok ${kind}: ${test.name}`);
      } catch (error) {
        failed = true;
        console.log(`not ok ${kind}: ${test.name}\n# ${String(error.stack).replace(/\n/g, '\n# ')}`);
      }
    }
  }
  server.kill('SIGKILL');
  process.exit(failed ? 1 : 0);
}

main();
