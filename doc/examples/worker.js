'use strict';
// A worker with ioredis. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
const { Redis } = require('ioredis');

const queue = process.env.QUEUE || 'emails';
const heartbeat = Number(process.env.HEARTBEAT || 20) * 1000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let stopping = false;

function connect() {
  const redis = new Redis({ port: Number(process.env.PORT || 7711), maxRetriesPerRequest: 0 });
  redis.on('error', (error) => console.log('connection:', error.message));
  return redis;
}

// Sends a command, again and again while the server is away. A reply that is an error, except LOADING, ends it.
async function call(redis, ...command) {
  for (;;) {
    try {
      return await redis.call(...command);
    } catch (error) {
      if (stopping || (error.name === 'ReplyError' && !error.message.startsWith('LOADING'))) throw error;
      await sleep(1000);
    }
  }
}

// Your code. Here the body is the number of seconds that the work takes.
async function work(body) {
  console.log('start', body);
  if (Number.isNaN(Number(body))) throw new Error(`not a number: ${body}`);
  await sleep(Number(body) * 1000);
  console.log('done', body);
}

async function run(redis, beats, [, id, body, , nacks, , , token]) {
  const name = `${id}:${token}`;
  // Renews the lease while the job runs, by a connection of its own. STALE means that another worker has the job now.
  const beat = setInterval(() => {
    beats.call('WORKING', name).catch((error) => console.log('heartbeat:', error.message));
  }, heartbeat);
  let end;
  try {
    await work(body);
    end = ['ACKJOB', name];
  } catch (error) {
    end = ['NACK', 'DELAY', Math.min(2 ** nacks, 3600), 'ERROR', error.message, name];
  }
  clearInterval(beat);
  await call(redis, ...end).catch((error) => console.log('end of the job:', error.message));
}

async function main() {
  process.on('SIGTERM', () => { stopping = true; });
  const redis = connect();
  const beats = connect();
  while (!stopping) {
    const jobs = await call(redis, 'GETJOB', 'TIMEOUT', 2000, 'WITHCOUNTERS', 'WITHTOKENS', 'FROM', queue);
    for (const job of jobs ?? []) await run(redis, beats, job);
  }
  redis.disconnect();
  beats.disconnect();
}

main();
