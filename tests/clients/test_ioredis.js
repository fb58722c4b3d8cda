'use strict';
// The scenario with ioredis, this major version and the one before, at their defaults.
const { runScenario } = require('./scenario');

async function connect({ Redis }) {
  const redis = new Redis(Number(process.env.PORT), '127.0.0.1', { lazyConnect: true, maxRetriesPerRequest: 0 });
  await redis.connect();
  return {
    call: (...words) => redis.call(...words),
    close: () => redis.quit(),
    multi: async (commands) => {
      const transaction = redis.multi();
      for (const words of commands) transaction.call(...words);
      return (await transaction.exec()).map(([, reply]) => reply);
    },
    subscribe: async (channel, heard) => {
      redis.on('message', (from, message) => heard(from, message));
      await redis.subscribe(channel);
    },
    unsubscribe: (channel) => redis.unsubscribe(channel),
  };
}

runScenario({ ioredis: () => connect(require('ioredis')), 'ioredis 5': () => connect(require('ioredis-5')) });
