'use strict';
// The scenario with node-redis, this major version and the one before, at their defaults.
const { runScenario } = require('./scenario');

async function connect({ createClient }, port, tls) {
  const socket = { host: '127.0.0.1', port, reconnectStrategy: false };
  const client = createClient({ socket: tls ? { ...socket, ...tls, tls: true } : socket });
  client.on('error', () => {}); // a failed call rejects; nothing else is wanted of it
  await client.connect();
  return {
    call: (...words) => client.sendCommand(words),
    close: () => client.close(),
    multi: (commands) => {
      const transaction = client.multi();
      for (const words of commands) transaction.addCommand(words);
      return transaction.exec();
    },
    subscribe: (channel, heard) => client.subscribe(channel, (message, from) => heard(from, message)),
    unsubscribe: (channel) => client.unsubscribe(channel),
  };
}

runScenario({
  'node-redis': (...how) => connect(require('redis'), ...how),
  'node-redis 5': (...how) => connect(require('redis-5'), ...how),
});
