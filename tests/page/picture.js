'use strict';
// Takes doc/images/page.png, the overview of a server that has worked for six minutes: tests/page/run --picture
const path = require('node:path');
const { Browser } = require('./browser');
const { Server } = require('./server');

const PICTURE = path.join(__dirname, '..', '..', 'doc', 'images', 'page.png');
const TICK_MS = 250;
const WORK_MS = 6 * 60 * 1000;
// For each queue: the mean numbers of jobs that are added and taken in a tick.
const QUEUES = {
  'mail:welcome': [6, 5.8],
  'orders:new': [4, 4.2],
  thumbnails: [2, 1.9],
  webhooks: [3, 3.1],
  'search:index': [5, 5.2],
  'mail:digest': [0.5, 0.6],
};
const ERRORS = ['HTTP 503 Service Unavailable', 'timeout after 30 s', 'HTTP 429 Too Many Requests'];

// A random whole number with about that mean.
function about(mean) {
  return Math.floor(mean * (0.5 + Math.random()) + Math.random());
}

async function addJobs(server, tick) {
  // The number of new jobs rises and falls with a period of two minutes.
  const wave = 1 + 0.7 * Math.sin((2 * Math.PI * tick * TICK_MS) / 120000);
  const commands = Object.entries(QUEUES).flatMap(([queue, [added]]) =>
    Array.from({ length: about(added * wave) }, (_, i) => [
      'ADDJOB',
      queue,
      `{"id": ${1000 * tick + i}}`,
      '0',
      'ATTEMPTS',
      '1',
    ]),
  );
  if (commands.length > 0) await server.run(...commands);
}

async function doJobs(server, queue, most) {
  if (most === 0) return;
  const [, jobs] = await server.run(
    ['CLIENT', 'SETNAME', `${queue}@host-1`],
    ['GETJOB', 'NOHANG', 'COUNT', most, 'FROM', queue],
  );
  const ids = (jobs ?? []).map(([, id]) => id);
  const failed = queue === 'webhooks' ? ids.filter(() => Math.random() < 0.02) : [];
  const done = ids.filter((id) => !failed.includes(id));
  // The jobs are active for half a tick, so that each queue has active jobs.
  await new Promise((resolve) => setTimeout(resolve, TICK_MS / 2));
  if (done.length > 0) await server.run('ACKJOB', ...done);
  for (const id of failed) await server.run('NACK', 'ERROR', ERRORS[id.charCodeAt(12) % ERRORS.length], id);
}

// Adds and does jobs until picture.taken is true.
async function work(server, picture) {
  for (let tick = 0; !picture.taken; tick++) {
    const next = new Promise((resolve) => setTimeout(resolve, TICK_MS));
    await Promise.all([
      addJobs(server, tick),
      ...Object.entries(QUEUES).map(([queue, [, taken]]) => doJobs(server, queue, about(taken))),
    ]);
    await next;
  }
}

async function main() {
  const server = new Server();
  const browser = new Browser();
  try {
    await server.start();
    await browser.start();
    await server.run(
      ...Array.from({ length: 40 }, (_, i) => ['ADDJOB', 'mail:digest', `{"user": ${i}}`, '0', 'DELAY', 3600 + i]),
    );
    const picture = { taken: false };
    const worked = work(server, picture);
    const page = await browser.open(server.url, { viewport: { width: 1280, height: 790 }, colorScheme: 'light' });
    await Promise.race([worked, page.waitForTimeout(WORK_MS)]);
    await page.screenshot({ path: PICTURE });
    picture.taken = true;
    await worked;
    await browser.close(page);
  } finally {
    await browser.stop();
    await server.stop();
  }
}

main();
