'use strict';
// A worker with ioredis. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
const { Redis } = require('ioredis');
const { setTimeout: sleep } = require('node:timers/promises');

const queue = process.env.QUEUE || 'emails';
const heartbeat = Number(process.env.HEARTBEAT || 20) * 1000;
let stopping = false;

function connect() {
  const redis = new Redis({ port: Number(process.env.PORT || 7711), maxRetriesPerRequest: 0 });
  redis.on('error', (error) => console.log('connection:', error.message));
  return redis;
}

// Sends commands in one write, again and again while the server is away. A reply is [error, value].
async function call(redis, commands) {
  for (;;) {
    const pipeline = redis.pipeline();
    for (const command of commands) pipeline.call(...command);
    const replies = await pipeline.exec();
    const lost = replies.find(([error]) => error && (error.name !== 'ReplyError' || error.message.startsWith('LOADING')));
    if (!lost) return replies;
    if (stopping) throw lost[0];
    await sleep(1000);
  }
}

// Your code. Here the body is the number of seconds that the work takes.
async function work(body, signal) {
  console.log('start', body);
  if (Number.isNaN(Number(body))) throw new Error(`not a number: ${body}`);
  await sleep(Number(body) * 1000, undefined, { signal });
  console.log('done', body);
}

// Returns the command for the end of the job.
async function run(beats, [, id, body, , nacks, , , token]) {
  const name = `${id}:${token}`;
  const controller = new AbortController();
  // Renews the lease while the job runs, by a connection of its own. STALE means that another worker has the job now.
  const beat = setInterval(() => {
    beats.call('WORKING', name).catch((error) => {
      console.log('heartbeat:', error.message);
      if (error.message.startsWith('CANCELLED')) controller.abort();
    });
  }, heartbeat);
  try {
    await work(body, controller.signal);
    return ['ACKJOB', name];
  } catch (error) {
    return ['NACK', 'DELAY', Math.min(2 ** nacks, 3600), 'ERROR', error.message, name];
  } finally {
    clearInterval(beat);
  }
}

async function main() {
  process.on('SIGTERM', () => { stopping = true; });
  const redis = connect();
  const beats = connect();
  const get = ['GETJOB', 'TIMEOUT', 2000, 'WITHCOUNTERS', 'WITHTOKENS', 'FROM', queue];
  let ends = [];
  while (ends.length > 0 || !stopping) {
    // The end of a job and the next GETJOB are one write, and usually one transaction of the server.
    const commands = stopping ? ends : [...ends, get];
    const replies = await call(redis, commands);
    for (const [error] of replies) if (error) console.log('refused:', error.message); // STALE: another worker has the job
    if (replies.at(-1)[0]) await sleep(1000);
    ends = [];
    if (commands.at(-1) === get) for (const job of replies.at(-1)[1] ?? []) ends.push(await run(beats, job));
  }
  redis.disconnect();
  beats.disconnect();
}

main();
