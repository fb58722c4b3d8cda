'use strict';
// A server with its own Postgres, and a proxy that serves its page below a path.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const SLOW = ['', '0', undefined].includes(process.env.PGDISQUE_TEST_SLOW) ? 1 : 5;
const DEADLINE_MS = 60000 * SLOW;

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// Calls condition until it returns a value that is true, and returns that value.
async function until(what, condition) {
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function post(url, body, headers) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return response.json();
}

class Server {
  async start() {
    this.scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'pgdisque-page.'));
    fs.chmodSync(this.scratch, 0o755);
    this.log = path.join(this.scratch, 'log');
    this.port = await freePort();
    this.httpPort = await freePort();
    this.url = `http://127.0.0.1:${this.httpPort}/`;
    this.headers = {};
    const log = fs.openSync(this.log, 'w');
    this.child = spawn(
      process.env.PGDISQUE,
      [
        '--port',
        this.port,
        '--http-port',
        this.httpPort,
        '--bind',
        '127.0.0.1',
        '--dir',
        path.join(this.scratch, 'data'),
      ].map(String),
      { stdio: ['ignore', log, log] },
    );
    fs.closeSync(log);
    await until('the server is ready', async () => {
      if (this.child.exitCode !== null) throw new Error('the server has ended');
      return fetch(this.url + 'ready').then(
        (response) => response.ok,
        () => false,
      );
    });
  }

  // Runs a command, or several, as an array of arrays. Throws the error of a single command.
  async run(...words) {
    const answer = await post(this.url + 'api/command', words, this.headers);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.replies ?? answer.reply;
  }

  // Adds a dead job for each error. Returns the IDs.
  async addDead(queue, errors) {
    const ids = await this.run(...errors.map((_, i) => ['ADDJOB', queue, `body ${i}`, '0', 'ATTEMPTS', '1']));
    await this.run(
      ['GETJOB', 'COUNT', errors.length, 'FROM', queue],
      ...ids.map((id, i) => ['NACK', 'ERROR', errors[i], id]),
    );
    return ids;
  }

  // The reply of names and values as an object.
  async fields(...words) {
    const reply = await this.run(...words);
    if (!Array.isArray(reply)) return reply;
    return Object.fromEntries(Array.from({ length: reply.length / 2 }, (_, i) => reply.slice(2 * i, 2 * i + 2)));
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      await ended;
    }
    const status = this.child.exitCode;
    const lines = fs.readFileSync(this.log, 'utf8').split('\n').slice(-40);
    fs.rmSync(this.scratch, { recursive: true, force: true });
    return { status, lines };
  }
}

// Serves the server's page below prefix. While it is cut, it closes all connections.
async function startProxy(server, prefix) {
  const sockets = new Set();
  const proxy = http.createServer((request, response) => {
    if (!request.url.startsWith(prefix)) return void response.writeHead(404).end();
    const target = http.request(
      {
        host: '127.0.0.1',
        port: server.httpPort,
        path: '/' + request.url.slice(prefix.length),
        method: request.method,
        headers: request.headers,
      },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    target.on('error', () => response.destroy());
    response.on('close', () => target.destroy());
    request.pipe(target);
  });
  let cut = false;
  proxy.on('connection', (socket) => {
    if (cut) return void socket.destroy();
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}${prefix}`,
    cut(value) {
      cut = value;
      if (cut) sockets.forEach((socket) => socket.destroy());
    },
    stop() {
      this.cut(true);
      proxy.close();
    },
  };
}

module.exports = { DEADLINE_MS, Server, startProxy, until };
