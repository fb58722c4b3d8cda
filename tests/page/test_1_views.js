'use strict';
// Every view shows what the server has.
const assert = require('node:assert');
const { visit, waitRows } = require('./browser');
const { until } = require('./server');

let filled = null;

async function fillOnce(server) {
  await server.run(
    ['ADDJOB', 'mail', '{"user": 17}', '0', 'RETRY', '60'],
    ['ADDJOB', 'mail', 'second', '0'],
    ['ADDJOB', 'mail', 'later', '0', 'DELAY', '3600'],
    ['ADDJOB', 'orders', 'x', '0'],
    ['PAUSE', 'orders', 'out'],
    ['QCONFIG', 'orders', 'SET', 'max-active', '7', 'rate', '30/m', 'group-max-active', '2'],
  );
  const names = Array.from({ length: 60 }, (_, i) => [
    'RPUSH',
    `many:${String(i).padStart(3, '0')}`,
    ...Array(i % 5).fill('x'),
    'y',
  ]);
  await server.run(...names);
}

function fill(server) {
  filled ??= fillOnce(server);
  return filled;
}

function rowTexts(page, column) {
  return page.locator(`tbody tr td:nth-child(${column})`).allInnerTexts();
}

// The text of a tile of the overview, or of its note.
function tile(page, label, part = '.figure') {
  return page.locator(`.tile:has(.label:text-is("${label}")) ${part}`);
}

// The number of jobs beside the name of a state.
function stateCount(page, state) {
  return page.locator(`.segments [data-value="${state}"] .count`);
}

module.exports = {
  // This test runs before other tests add queues. After the deletion only the newest queue has a job.
  async 'the overview has the oldest job of any queue'({ server, browser }) {
    const newest = { base64: 'cf8=' };
    const others = Array.from({ length: 20 }, (_, i) => `aged:${i}`);
    await server.run(...others.map((name) => ['RPUSH', name, 'x', 'y']), ['ADDJOB', newest, 'x', '0']);
    const page = await browser.open(server.url);
    await until('the oldest', async () => (await tile(page, 'Oldest queued job', '.note').innerText()) === 'aged:0');
    await page.waitForSelector('a:text-is("All 21 queues")');
    assert.equal(await page.locator('section:has(h2:text-is("Longest queues")) tbody tr').count(), 8);
    await server.run('DEL', ...others);
    await until('the new one', async () => (await tile(page, 'Oldest queued job', '.note').innerText()) === 'q\\xff');
    await tile(page, 'Oldest queued job').click();
    await page.waitForSelector('h1:has-text("q\\\\xff")');
    await server.run('DEL', newest);
    await browser.close(page);
  },

  async 'the overview has live figures, charts and the longest queues'({ server, browser }) {
    await fill(server);
    const page = await browser.open(server.url);
    await page.waitForSelector('.live-on');
    await page.waitForSelector('.alerts li:visible');
    await until('figures', async () => /^\d/.test(await tile(page, 'Queued').innerText()));
    await page.waitForSelector('text=many:');
    const before = await tile(page, 'Queued').innerText();
    await server.run('ADDJOB', 'mail', 'new', '0');
    await until('one more', async () => (await tile(page, 'Queued').innerText()) !== before);
    await page.waitForFunction(() => document.querySelector('canvas').getAttribute('aria-label').includes('now:'));
    await page.waitForSelector('.legend li:has-text("failed") strong:text-matches("[0-9]")');
    await page.click('text=6 hours');
    await page.waitForFunction(() => location.hash.includes('range=hours'));
    await browser.close(page);
  },

  async 'dead jobs of all queues are listed by queue and by error, the newest first'({ server, browser }) {
    const trace = 'Traceback (most recent call last):\n  File "a.py", line 7, in run\nOSError: disk 17 is full';
    await server.addDead('fails:a', ['HTTP 503', 'HTTP 503', 'HTTP 404', 'timeout after 30 s', 'timeout after 31 s']);
    await server.addDead('fails:b', [trace]);
    const page = await browser.open(server.url);
    await page.waitForSelector('nav .badge:text-is("6")');
    await page.locator('section:has(h2:text-is("Dead jobs by queue")) tr', { hasText: 'fails:a' }).waitFor();
    await tile(page, 'Dead').click();
    await page.waitForSelector('text=6 dead jobs in 2 queues.');
    const card = (title) => page.locator(`section:has(h2:text-is("${title}"))`);
    await card('By queue').locator('tr:has-text("fails:a") td:text-is("5")').waitFor();
    for (const [text, count] of [
      ['HTTP 503', 2],
      ['HTTP 404', 1],
      ['timeout after … s', 2],
      ['OSError: disk 17 is full', 1],
    ])
      await card('By error').locator(`tr:has(bdi:text-is("${text}")) td:text-is("${count}")`).waitFor();
    await waitRows(page, 6, '.jobs');
    assert.match(await page.locator('.jobs tbody tr').first().innerText(), /fails:b[^]*OSError: disk 17 is full/);
    await page.click('button:has-text("timeout after … s")');
    await waitRows(page, 2, '.jobs');
    await page.waitForSelector('button:text-is("Revive all 2")');
    assert.match(page.url(), /error=timeout%20after/);
    await page.click('button:text-is("Delete all 2")');
    await page.click('dialog >> button:text-is("Delete 2 jobs")');
    await page.waitForSelector('.toast:has-text("deleted 2 jobs")');
    await page.waitForSelector('text=4 dead jobs in 2 queues.');
    await server.run(['DELDEAD', 'fails:a'], ['DELDEAD', 'fails:b']);
    await page.waitForSelector('text=0 dead jobs in 0 queues.');
    await browser.close(page);
  },

  async 'the button to pause a queue is in view'({ server, browser }) {
    await fill(server);
    const page = await browser.open(server.url + '#/queues?filter=mail');
    await page.setViewportSize({ width: 1280, height: 800 });
    const button = await page.locator('button[aria-label="Pause mail"]').boundingBox();
    const region = await page.locator('.scroll').boundingBox();
    assert.ok(button.x + button.width <= region.x + region.width, `${button.x} in ${region.x} + ${region.width}`);
    await browser.close(page);
  },

  async 'queues are filtered, ordered and paged'({ server, browser }) {
    await fill(server);
    const page = await browser.open(server.url + '#/queues?filter=many:');
    await page.waitForSelector('text=60 queues of');
    assert.equal((await rowTexts(page, 1)).length, 50);
    await page.click('text=Next');
    await waitRows(page, 10);
    await page.fill('input[aria-label="Filter queues by name"]', 'many:00');
    await page.waitForSelector('text=10 queues of');
    await page.click('th button:has-text("Queued")');
    await page.waitForFunction(() => document.querySelector('tbody tr td:nth-child(2)').textContent === '5');
    assert.match(page.url(), /filter=many:00.*sort=len/);
    await page.reload();
    await page.waitForSelector('text=10 queues of');
    await page.waitForFunction(() => document.querySelector('tbody tr td:nth-child(2)').textContent === '5');
    await visit(page, '#/queues?filter=orders');
    const text = await page.locator('tbody tr').first().innerText();
    assert.match(text, /paused out/);
    assert.match(text, /7 at once \(0 in use\), 30\/m/);
    await browser.close(page);
  },

  async 'a queue shows its jobs by state and in both orders'({ server, browser }) {
    await server.run(['RPUSH', 'states', 'first', 'second'], ['ADDJOB', 'states', 'later', '0', 'DELAY', '3600']);
    const page = await browser.open(server.url + '#/queue/states');
    await page.waitForSelector('code:has-text("second")');
    await page.waitForSelector('td .badge-delayed');
    await page.click('.segments button:has-text("Delayed")');
    await waitRows(page, 1);
    await page.waitForSelector('td:has-text("due in")');
    assert.match(page.url(), /state=delayed/);
    await page.click('.segments button:has-text("Queued")');
    await waitRows(page, 2);
    const first = () => page.locator('tbody tr code.preview').first().innerText();
    assert.equal(await first(), 'first');
    await page.selectOption('select[aria-label="Order of the jobs"]', 'newest');
    await until('the newest first', async () => (await first()) === 'second');
    await page.reload();
    await page.waitForSelector('tbody tr');
    assert.equal(await first(), 'second');
    await browser.close(page);
  },

  async 'two clicks on Next read each job once'({ server, browser }) {
    await server.run('RPUSH', 'paged', ...Array.from({ length: 150 }, (_, i) => `job ${i}`));
    const page = await browser.open(server.url + '#/queue/paged');
    const next = page.locator('.pager >> text=Next');
    await next.click();
    await page.waitForSelector('bdi:text-is("job 99")');
    await next.evaluate((button) => [button.click(), button.click()]);
    await page.waitForSelector('bdi:text-is("job 149")');
    await page.waitForSelector('.pager >> text=101–150');
    assert.ok(await next.isDisabled());
    await browser.close(page);
  },

  async 'a view reads its data once when it opens'({ server, browser }) {
    await fill(server);
    const page = await browser.open(null);
    const words = [];
    page.on('request', (request) => words.push(request.postData() ?? ''));
    // Periodic work does not begin while the clock stands.
    await page.clock.install({ time: Date.now() - 60000 });
    await page.clock.pauseAt(Date.now());
    await page.goto(server.url);
    await page.waitForSelector('.view h1');
    for (const [hash, command] of [
      ['#/queues', 'QSCAN'],
      ['#/nodes', 'HELLO'],
      ['#/schedules', 'SCHEDULES'],
    ]) {
      words.length = 0;
      await visit(page, hash);
      // The request of the search comes after all requests of the view.
      await page.fill('#search', 'nothing has this name');
      await page.press('#search', 'Enter');
      const end = () => words.findIndex((text) => text.includes('nothing has this name'));
      await until('the search', () => end() >= 0);
      const read = words.slice(0, end()).filter((text) => text.includes(command) && !text.includes('ORDER'));
      assert.equal(read.length, 1, hash);
      await page.waitForSelector('text=No queue matches.');
    }
    await browser.close(page);
  },

  async 'a list of a state without jobs asks the server for nothing'({ server, browser }) {
    await server.run('RPUSH', 'quiet', ...Array(200).fill('x'));
    const page = await browser.open(server.url + '#/queue/quiet?state=active');
    const words = [];
    page.on('request', (request) => words.push(request.postData() ?? ''));
    await page.waitForSelector('text=No such job.');
    const charts = () => words.filter((text) => text.includes('HISTORY')).length;
    const before = charts();
    // The charts are read every ten seconds, and the list would be read every five.
    await until('time has passed', () => charts() > before);
    assert.deepEqual(
      words.filter((text) => /JSCAN|SHOW|QPEEK/.test(text)),
      [],
    );
    await server.run('GETJOB', 'FROM', 'quiet');
    await page.waitForSelector('td:has-text("lease ends in")');
    await browser.close(page);
  },

  async 'the search finds queues by name and by a part, and jobs by both forms of the ID'({ server, browser }) {
    const id = await server.run('ADDJOB', 'search:one', 'x', '0');
    await server.run('RPUSH', 'search:two', 'x');
    const page = await browser.open(server.url);
    const search = async (text) => {
      await page.waitForSelector('.view:not([aria-busy]) h1');
      await page.fill('#search', text);
      await page.press('#search', 'Enter');
      await until('the field is empty', async () => (await page.inputValue('#search')) === '');
    };
    await search('search:one');
    await page.waitForSelector('h1:has-text("search:one")');
    await page.waitForSelector('tbody tr');
    await search(await page.locator('tbody tr a').first().innerText());
    await page.waitForSelector('h1:has-text("Job")');
    assert.ok(page.url().endsWith(encodeURIComponent(id)));
    await search('search:');
    await page.waitForSelector('text=2 queues of');
    await browser.close(page);
  },

  async 'a job is found by its ID, and its body has three forms'({ server, browser }) {
    const id = await server.run('ADDJOB', 'mail', '{"user":18,"tags":["a"]}', '0', 'PRIORITY', '9');
    const page = await browser.open(server.url);
    await page.waitForSelector('.view h1');
    await page.keyboard.press('/');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.badge-queued');
    assert.match(await page.innerText('pre'), /"user": 18,/);
    await page.click('text=Hex');
    assert.match(await page.innerText('pre'), /00000000 {2}7b 22 75 73/);
    await page.click('.segments >> text=Text');
    assert.equal(await page.innerText('pre'), '{"user":18,"tags":["a"]}');
    await page.reload();
    await page.waitForSelector('.badge-queued');
    await server.run('DELJOB', id);
    await page.keyboard.press('r');
    await page.waitForSelector('text=does not exist');
    await browser.close(page);
  },

  async 'a done job has its result, and a dead job its error'({ server, browser }) {
    await server.run('QCONFIG', 'done', 'SET', 'retention', '600');
    const id = await server.run('ADDJOB', 'done', 'x', '0');
    await server.run('ACKJOB', 'RESULT', 'forty-two', id);
    const dead = await server.run('ADDJOB', 'done', 'y', '0', 'ATTEMPTS', '1');
    await server.run(['GETJOB', 'FROM', 'done'], ['NACK', 'ERROR', 'no such mailbox', dead]);
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.waitForSelector('pre:has-text("forty-two")');
    await visit(page, `#/job/${encodeURIComponent(dead)}`);
    assert.match(await page.innerText('pre'), /no such mailbox/);
    await page.waitForSelector('.badge-dead');
    await visit(page, '#/queue/done?state=dead');
    await page.waitForSelector('.error-text:has-text("no such mailbox")');
    await visit(page, '#/queue/done?state=done');
    await page.waitForSelector('time:text-matches("^done .* ago$")');
    await browser.close(page);
  },

  async 'a job has its headers, progress and the errors of all attempts'({ server, browser }) {
    const id = await server.run('ADDJOB', 'rare', 'x', '0', 'HEADER', 'tenant', 'acme', 'ATTEMPTS', '5');
    for (const error of ['first failure', 'Traceback (most recent call last):\n  File "a.py"\nOSError: second']) {
      await server.run(
        ['GETJOB', 'FROM', 'rare'],
        ['WORKING', id, 'PROGRESS', '40', 'TEXT', 'page 4 of 10'],
        ['NACK', 'ERROR', error, id],
      );
    }
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.waitForSelector('section:has(h2:text-is("Headers")) dt:has-text("tenant")');
    await page.waitForSelector('dd:has-text("acme")');
    await page.waitForSelector('progress[value="40"]');
    await page.waitForSelector('p:has-text("40 %: page 4 of 10")');
    const attempts = page.locator('.attempts > li');
    assert.deepEqual(
      (await attempts.allInnerTexts()).map((text) => text.replace(/, .*ago/, '').split('\n')),
      [
        ['Attempt 2', 'OSError: second'],
        ['Attempt 1', 'first failure'],
      ],
    );
    assert.match(await attempts.first().locator('time').getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    await attempts.first().locator('summary').click();
    await attempts.locator('pre:has-text("File")').waitFor();
    await server.run(['GETJOB', 'FROM', 'rare'], ['WORKING', id, 'PROGRESS', '90']);
    await page.waitForSelector('.badge-active');
    await page.waitForSelector('progress[value="90"]');
    await server.run('NACK', id);
    await visit(page, '#/queue/rare?header=tenant&text=acme');
    await page.waitForSelector('td:text-is("90 %")');
    await visit(page, '#/queue/rare?header=tenant&text=other');
    await page.waitForSelector('text=No such job.');
    await browser.close(page);
  },

  async 'a job has its predecessors and its batch'({ server, browser }) {
    const batch = await server.run('BATCH', 'NEW', 'flow', 'COMPLETE', 'all done');
    const first = await server.run('ADDJOB', 'flow', 'a', '0', 'BATCH', batch);
    const second = await server.run('ADDJOB', 'flow', 'b', '0', 'BATCH', batch, 'AFTER', first);
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(second)}`);
    await page.waitForSelector('.head .badge-waiting');
    await page.waitForSelector('td .badge-pending');
    await page.waitForSelector('section:has(h2:text-is("Batch")) p:has-text("0 of 2 jobs have ended")');
    await server.run('ACKJOB', 'RESULT', 'forty', first);
    await page.waitForSelector('td:has-text("forty")');
    await page.waitForSelector('p:has-text("1 of 2 jobs have ended")');
    const open = await server.run('BATCH', 'NEW', 'flow');
    await server.run('ADDJOB', 'flow', 'c', '0', 'BATCH', open);
    await visit(page, `#/job/${encodeURIComponent(open)}`);
    await page.waitForSelector('p:has-text("0 of 1 job")');
    await browser.close(page);
  },

  async 'a queue has its states, latency, limits and waiting jobs'({ server, browser }) {
    await server.run(
      ['ADDJOB', 'waits', 'a', '0'],
      ['ADDJOB', 'waits', 'b', '0', 'DELAY', '3600'],
      ['ADDJOB', 'waits', 'c', '0', 'GROUP', 'g'],
      ['ADDJOB', 'waits', 'd', '0', 'GROUP', 'g'],
      ['GETJOB', 'FROM', 'waits'],
      ['QCONFIG', 'waits', 'SET', 'rate', '600/m', 'server-max-active', '8', 'group-rate', '2/10s'],
    );
    const page = await browser.open(server.url + '#/queue/waits');
    for (const [state, name] of Object.entries({
      queued: 'len',
      active: 'active',
      delayed: 'delayed',
      waiting: 'waiting',
    })) {
      await until(state, async () => {
        const figures = await server.fields('QSTAT', 'waits');
        return figures[name] === 1 && (await stateCount(page, state).innerText()) === '1';
      });
    }
    const first = await server.run('ADDJOB', 'elsewhere', 'a', '0');
    await server.run('ADDJOB', 'waits', 'after it', '0', 'AFTER', first);
    await until('the waiting jobs', async () => (await stateCount(page, 'waiting').innerText()) === '2');
    await page.click('.segments [data-value="waiting"]');
    await waitRows(page, 2);
    await page.waitForSelector('td:has-text("after it")');
    const fact = (label) => page.locator(`.line div:has(dt:text-is("${label}")) dd`);
    await until('the latency is shown', async () => /^\d/.test(await fact('Latency p99').innerText()));
    assert.equal(await fact('Limits').innerText(), '600/m, 8 a server, 2/10s a group');
    await visit(page, '#/queues?filter=waits');
    await page.waitForSelector('th:has-text("Latency p99"):visible');
    await page.waitForSelector('tr:has-text("waits") td:has-text("ms")');
    await browser.close(page);
  },

  async 'nodes, slow log and doctor'({ server, browser }) {
    const dead = await server.run('ADDJOB', 'done', 'z', '0', 'ATTEMPTS', '1');
    await server.run(['GETJOB', 'FROM', 'done'], ['NACK', dead]);
    const page = await browser.open(server.url + '#/nodes');
    const node = await server.run('CLUSTER', 'MYID').catch(async () => (await server.run('HELLO'))[1]);
    await page.waitForSelector(`code:has-text("${node}")`);
    await page.waitForSelector('dt:has-text("Uptime")');
    await page.waitForSelector('div:has(dt:text-is("Commands a second")) dd bdi:text-matches("^[0-9]")');
    await server.run('CONFIG', 'SET', 'slowlog-log-slower-than', '0');
    await server.run('QLEN', 'slowest');
    await server.run('CONFIG', 'SET', 'slowlog-log-slower-than', '10000');
    await visit(page, '#/slowlog');
    await page.waitForSelector('code:has-text("QLEN slowest")');
    await visit(page, '#/doctor');
    await page.waitForSelector('text=Checked at');
    await page.click('li:has(code:text-is("dead-jobs")) >> a:text-is("Dead jobs")');
    await page.waitForSelector('h1:text-is("Dead jobs")');
    await browser.close(page);
  },

  async 'the keyboard reaches all views and rows'({ server, browser }) {
    const page = await browser.open(server.url);
    await page.waitForSelector('.view h1');
    for (const [key, title] of [
      ['q', 'Queues'],
      ['x', 'Dead jobs'],
      ['w', 'Workers'],
      ['s', 'Schedules'],
      ['n', 'Nodes'],
      ['l', 'Slow log'],
      ['d', 'Doctor'],
      ['o', 'Overview'],
      ['q', 'Queues'],
    ]) {
      // The two keys must come within a second and a half, and the machine may be busy.
      await until(`g ${key}`, async () => {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        return page.waitForSelector(`h1:text-is("${title}")`, { timeout: 3000 }).catch(() => false);
      });
    }
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const second = await page.locator('tbody tr a').nth(1).getAttribute('href');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('href')), second);
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.startsWith('#/queue/'));
    await page.waitForSelector('.view .crumbs');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open] kbd');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await browser.close(page);
  },
};
