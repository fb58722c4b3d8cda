'use strict';
// The scenario with node-redis, at its defaults.
const { createClient } = require('redis');
const { runScenario } = require('./scenario');

async function connect() {
  const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT}`, socket: { reconnectStrategy: false } });
  client.on('error', () => {}); // a failed call rejects; nothing else is wanted of it
  await client.connect();
  return {
    call: (...words) => client.sendCommand(words),
    close: () => client.close(),
  };
}

runScenario('node-redis', connect);
