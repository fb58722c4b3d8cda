'use strict';
// The scenario with ioredis, this major version and the one before, at their defaults.
const { runScenario } = require('./scenario');

async function connect({ Redis }, port, tls) {
  const redis = new Redis({ host: '127.0.0.1', port, tls, lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: null });
  redis.on('error', () => {}); // a failed call rejects; nothing else is wanted of it
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

runScenario({
  ioredis: (...how) => connect(require('ioredis'), ...how),
  'ioredis 5': (...how) => connect(require('ioredis-5'), ...how),
});
