'use strict';
// The scenario with ioredis, at its defaults.
const { Redis } = require('ioredis');
const { runScenario } = require('./scenario');

async function connect() {
  const redis = new Redis(Number(process.env.PORT), '127.0.0.1', { lazyConnect: true, maxRetriesPerRequest: 0 });
  await redis.connect();
  return {
    call: (...words) => redis.call(...words),
    close: () => redis.quit(),
  };
}

runScenario('ioredis', connect);
