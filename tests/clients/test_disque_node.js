'use strict';
// Disque's own clients for Node.js: disqueue-node and thunk-disque.
const assert = require('node:assert');
const { promisify } = require('node:util');
const Disqueue = require('disqueue-node');
const thunkDisque = require('thunk-disque');

const PORT = Number(process.env.PORT);

async function disqueueNode() {
  const client = new Disqueue({ host: '127.0.0.1', port: PORT });
  await new Promise((resolve, reject) => client.once('connected', resolve).once('error', reject));
  const call = (name, words) => promisify(client[name]).call(client, words);
  const id = await call('addJob', { queue: 'disqueue-node', job: 'body', timeout: 0, retry: 7 });
  const [job] = await call('getJob', { queue: ['disqueue-node'], count: 1, withcounters: true });
  assert.deepStrictEqual([job.queue, job.jobId, job.body], ['disqueue-node', id, 'body']);
  assert.strictEqual((await call('show', id)).retry, 7);
  assert.strictEqual(await call('nack', [id]), 1);
  assert.strictEqual(await call('qlen', 'disqueue-node'), 1);
  assert.strictEqual(await call('ackJob', id), 1);
  assert.strictEqual((await call('hello', {})).nodeId.length, 40);
  assert.ok(await call('info', {}));
  client.redisClient.end(true);
}

async function thunkDisqueClient() {
  const client = thunkDisque.createClient([PORT], { usePromise: true, autoMeet: false });
  const id = await client.addjob('thunk-disque', 'body', 0, 'RETRY', 7);
  const [job] = await client.getjob('FROM', 'thunk-disque');
  assert.deepStrictEqual(job.slice(0, 3), ['thunk-disque', id, 'body']);
  assert.strictEqual(await client.working(id), 7);
  assert.strictEqual((await client.show(id)).queue, 'thunk-disque');
  assert.strictEqual(await client.nack(id), 1);
  assert.strictEqual((await client.qstat('thunk-disque')).len, 1);
  assert.strictEqual(await client.ackjob(id), 1);
  assert.strictEqual(await client.show(id), null);
  assert.strictEqual(Number((await client.info()).tcp_port), PORT);
  assert.ok((await client.command()).length > 30);
  client.clientEnd();
}

async function main() {
  let failed = 0;
  for (const [library, run] of [['disqueue-node', disqueueNode], ['thunk-disque', thunkDisqueClient]]) {
    try {
      await run();
      console.log(`ok ${library}: adds, gets, shows, takes back and acknowledges`);
    } catch (err) {
      failed = 1;
      console.log(`not ok ${library}`);
      console.log(String(err.stack).replace(/^/gm, '#   '));
    }
  }
  process.exit(failed);
}

main();
