'use strict';
// Accessibility in every view and both colour schemes, the phone, a proxy, a lost connection, many jobs.
const assert = require('node:assert');
const { auditAccess, picture, visit, waitRows } = require('./browser');
const { startProxy, until } = require('./server');

const FULL = process.env.FULL === '1';

async function fillShop(server) {
  const queues = [
    'mail:welcome',
    'mail:digest',
    'orders:new',
    'orders:refund',
    'thumbnails',
    'webhooks',
    'search:index',
    'exports',
  ];
  for (const [i, queue] of queues.entries()) {
    await server.run(
      'RPUSH',
      queue,
      ...Array.from({ length: 900 - 97 * i }, (_, n) => JSON.stringify({ user: 17 * n, template: 'welcome' })),
    );
  }
  const ids = await server.run(
    ...Array.from({ length: 30 }, (_, n) => [
      'ADDJOB',
      'webhooks',
      JSON.stringify({ url: `https://hooks.example/${n}`, event: 'order.paid' }),
      '0',
      'ATTEMPTS',
      '1',
      'PRIORITY',
      '9',
      'HEADER',
      'tenant',
      'acme',
    ]),
  );
  await server.run(
    ['CLIENT', 'SETNAME', 'hook-1'],
    ['GETJOB', 'COUNT', '30', 'FROM', 'webhooks'],
    ['WORKING', ids[0], 'PROGRESS', '60', 'TEXT', 'connected'],
    ['NACK', 'ERROR', 'HTTP 503 Service Unavailable after 10.2 s', ...ids],
  );
  await server.run(['CLIENT', 'SETNAME', 'mailer-2'], ['GETJOB', 'COUNT', '12', 'FROM', 'mail:welcome']);
  await server.run('SCHEDULE', 'nightly', '30 2 * * *', 'mail:digest', 'all');
  await server.run('PAUSE', 'exports', 'out');
  const batch = await server.run('BATCH', 'NEW', 'mail:digest', 'COMPLETE', 'send the digest');
  const part = await server.run('ADDJOB', 'exports', 'part 1', '0', 'BATCH', batch);
  const flow = await server.run('ADDJOB', 'exports', 'sum of the parts', '0', 'BATCH', batch, 'AFTER', part);
  return { dead: ids[0], flow };
}

function views({ dead, flow }) {
  return {
    overview: '#/',
    queues: '#/queues',
    queue: '#/queue/webhooks',
    failed: '#/queue/webhooks?state=dead',
    dead: '#/dead',
    filter: '#/queue/webhooks?state=dead&error=HTTP',
    job: `#/job/${encodeURIComponent(dead)}`,
    flow: `#/job/${encodeURIComponent(flow)}`,
    workers: '#/workers',
    schedules: '#/schedules',
    nodes: '#/nodes',
    slowlog: '#/slowlog',
    doctor: '#/doctor',
    unknown: '#/unknown',
  };
}

let shop = null;

async function audit({ server, browser }, scheme) {
  shop ??= await fillShop(server);
  const page = await browser.open(server.url, { colorScheme: scheme });
  const problems = [];
  await page.waitForSelector('.live-on');
  for (const [name, hash] of Object.entries(views(shop))) {
    await visit(page, hash);
    if (name === 'overview') await page.waitForSelector('td:has-text("orders:new")');
    problems.push(...(await auditAccess(page)).map((text) => `${name}: ${text}`));
    await picture(page, `${name}-${scheme}`);
  }
  await visit(page, '#/queue/webhooks');
  await page.click('.head >> text=Add a job');
  problems.push(...(await auditAccess(page)).map((text) => `dialog: ${text}`));
  await picture(page, `dialog-${scheme}`);
  await visit(page, '#/schedules');
  await page.evaluate(() => document.querySelector('dialog')?.remove());
  await page.click('tr:has-text("nightly") >> text=Details');
  await page.waitForSelector('dialog .ticks li');
  problems.push(...(await auditAccess(page)).map((text) => `schedule: ${text}`));
  await picture(page, `schedule-${scheme}`);
  assert.deepEqual(problems, []);
  await browser.close(page);
}

module.exports = {
  'no serious problem in the light scheme': (tools) => audit(tools, 'light'),
  'no serious problem in the dark scheme': (tools) => audit(tools, 'dark'),

  async 'the views fit on a phone'({ server, browser }) {
    shop ??= await fillShop(server);
    const page = await browser.open(server.url, {
      viewport: { width: 375, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    await page.waitForSelector('.view h1');
    for (const [name, hash] of Object.entries(views(shop))) {
      await visit(page, hash);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 375, `${name} is ${width} wide`);
      await picture(page, `${name}-phone`);
    }
    await page.click('button[aria-label=Menu]');
    await page.click('nav >> text=Workers');
    await page.waitForSelector('h1:has-text("Workers")');
    await page.waitForSelector('nav.menu', { state: 'hidden' });
    await browser.close(page);
  },

  async 'the page works below a path, and reconnects'({ server, browser }) {
    await server.run('RPUSH', 'mail', 'x');
    const proxy = await startProxy(server, '/tools/queues/');
    const page = await browser.open(proxy.url + '#/queues');
    await page.waitForSelector('tbody tr a');
    await page.waitForSelector('.live-on');
    proxy.cut(true);
    await page.waitForSelector('.banner:has-text("connection to the server is lost")');
    proxy.cut(false);
    await page.waitForSelector('.banner', { state: 'hidden' });
    await page.waitForSelector('.live-on');
    await browser.close(page);
    proxy.stop();
  },

  async 'the colours are chosen and kept'({ server, browser }) {
    const page = await browser.open(server.url, { colorScheme: 'light' });
    const scheme = () => page.evaluate(() => document.documentElement.dataset.theme);
    await page.click('text=Colours: system');
    assert.equal(await scheme(), 'light');
    await page.keyboard.press('t');
    await page.waitForSelector('text=Colours: dark');
    assert.equal(await scheme(), 'dark');
    await page.reload();
    await page.waitForSelector('text=Colours: dark');
    assert.equal(await scheme(), 'dark');
    await browser.close(page);
  },

  async 'without the library of charts all else works'({ server, browser }) {
    await server.run('RPUSH', 'mail', 'x');
    const page = await browser.open(null);
    await page.route('**/chart.js', (route) => route.abort());
    await page.goto(server.url);
    await page.waitForSelector('text=No library for charts.');
    await page.waitForSelector('tbody tr a');
    await browser.close(page);
  },

  async 'a queue with many jobs is read in pages'({ server, browser }) {
    const count = FULL ? 1000000 : 50000;
    for (let n = 0; n < count; n += 50000) {
      await server.run(
        ...Array.from({ length: 50 }, (_, i) => [
          'RPUSH',
          'large',
          ...Array.from({ length: 1000 }, (_, j) => `job ${n + i * 1000 + j}`),
        ]),
      );
    }
    await server.run('ADDJOB', 'large', 'the only delayed job', '0', 'DELAY', '5000');
    const page = await browser.open(null);
    const started = Date.now();
    await page.goto(server.url + '#/queue/large');
    await page.waitForSelector('bdi:text-is("job 0")');
    const shown = Date.now();
    await page.click('.pager >> text=Next');
    await page.waitForSelector('bdi:text-is("job 50")');
    await page.click('.pager >> text=Next');
    await page.waitForSelector('bdi:text-is("job 100")');
    const paged = Date.now();
    await page.click('.segments >> text=Delayed');
    await page.waitForSelector('bdi:text-is("the only delayed job")');
    console.log(
      `# ${count} jobs: first page ${shown - started} ms, two more ${paged - shown} ms, ` +
        `the only delayed job ${Date.now() - paged} ms`,
    );
    await browser.close(page);
    await until('the queue is empty', async () => (await server.run('DEL', 'large')) === 0 || FULL);
  },

  async 'many queues are listed and found'({ server, browser }) {
    const count = FULL ? 100000 : 3000;
    for (let n = 0; n < count; n += 100) {
      await server.run(...Array.from({ length: 100 }, (_, i) => ['RPUSH', `crowd:${n + i}`, 'x']));
    }
    const page = await browser.open(null);
    const started = Date.now();
    await page.goto(server.url + '#/queues?filter=crowd:');
    await page.waitForSelector(`text=${count.toLocaleString('en')} queues of`);
    const shown = Date.now();
    await page.fill('input[aria-label="Filter queues by name"]', `crowd:${count - 1}`);
    await waitRows(page, 1);
    console.log(`# ${count} queues: listed in ${shown - started} ms, filtered in ${Date.now() - shown} ms`);
    await browser.close(page);
  },
};
