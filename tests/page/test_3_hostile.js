'use strict';
// Names and bodies that are hostile are shown as texts, and every action reaches the queue and the job of that name.
const assert = require('node:assert');
const { visit } = require('./browser');
const { until } = require('./server');

const MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
const NAMES = [
  MARKUP,
  '"><svg onload=window.hit=1>',
  'a/b?c#d%41&x=1;%',
  '~tilde',
  '~~',
  '..',
  '\u202egnp.exe',
  'nul\u0000tab\tline\n',
  '__proto__',
  'javascript:window.hit=1',
  '{{7*7}}',
  { base64: '//4AgP8=' },
  'ünï:\u{1f680}',
  'x'.repeat(5000),
];

// Queues of other tests.
const OTHERS =
  /^#\/queue\/(act:|aged:|many:|paged|fails:|search:|quiet|mail|orders|done|states|rare|flow|waits|elsewhere|hostile:)/;

function hrefOf(page) {
  return page.locator('tbody tr a').first().getAttribute('href');
}

module.exports = {
  async 'queues, jobs and bodies of all names'({ server, browser }) {
    const page = await browser.open(server.url);
    for (const [i, name] of NAMES.entries()) {
      const body = typeof name === 'string' ? name : { base64: '/w==' };
      await server.run('ADDJOB', name, body, '0', 'PRIORITY', i);
    }
    await visit(page, '#/queues?least=1&sort=oldest');
    const all = await page.locator('tbody tr a').evaluateAll((list) => list.map((link) => link.getAttribute('href')));
    const links = all.filter((href) => !OTHERS.test(href));
    assert.equal(links.length, NAMES.length);
    const known = new Set(NAMES.map((name) => JSON.stringify(name)));
    for (const href of links) {
      await visit(page, href);
      await page.waitForSelector('tbody tr a');
      await visit(page, await hrefOf(page));
      await page.waitForSelector('.badge-queued');
      await page.click('text=Hex');
      await page.waitForSelector('pre:has-text("00000000")');
      await page.click('.head >> text=Add a copy');
      await page.click('text=Add the job');
      await page.waitForSelector('.toast >> text=Show');
      await page.click('.toast-close');
    }
    for (const name of NAMES) {
      assert.equal(await server.run('QLEN', name), 2, `a copy in ${JSON.stringify(name)}`);
      const jobs = await server.run('QPEEK', name, '2');
      assert.deepEqual(jobs[0][2], jobs[1][2]);
      known.delete(JSON.stringify(name));
    }
    assert.equal(known.size, 0);
    await browser.close(page);
  },

  async 'pause, settings and deletion of bytes'({ server, browser }) {
    const name = { base64: '//4AgP8=' };
    const page = await browser.open(server.url + '#/queue/~__4AgP8');
    await page.waitForSelector('h1:has-text("\\\\xff\\\\xfe\\\\x00\\\\x80\\\\xff")');
    await page.selectOption('select[aria-label="Pause of the queue"]', 'in');
    await until('paused', async () => (await server.run('PAUSE', name, 'state')) === 'in');
    await page.selectOption('select[aria-label="Pause of the queue"]', 'none');
    await until('resumed', async () => (await server.run('PAUSE', name, 'state')) === 'none');
    await page.waitForFunction(() => document.querySelectorAll('td input[type=checkbox]').length === 2);
    await page.locator('td input[type=checkbox]').first().check();
    await page.locator('td input[type=checkbox]').nth(1).check();
    await page.click('.selection >> text=Delete');
    await page.click('dialog >> button:text-is("Delete 2 jobs")');
    await until('deleted', async () => (await server.run('QLEN', name)) === 0);
    await browser.close(page);
  },

  async 'errors with invisible characters select their jobs'({ server, browser }) {
    await server.addDead('hostile:errors', Array(5).fill('\u202ebroken pipe\u0000'));
    const page = await browser.open(server.url + '#/dead');
    await page.click('button.link:has-text("broken pipe")');
    await page.waitForSelector('button:text-is("Revive all 5")');
    await server.run('DELDEAD', 'hostile:errors');
    await browser.close(page);
  },

  async 'workers, schedules, errors and results'({ server, browser }) {
    const queue = 'hostile:parts';
    const header = ['HEADER', '__proto__', MARKUP, 'HEADER', 'x-markup', '\u202e"><svg onload=window.hit=1>'];
    await server.run('SCHEDULE', MARKUP, '30 2 * * *', queue, MARKUP, ...header, 'UNIQUE', MARKUP, 'GROUP', MARKUP);
    await server.run('QCONFIG', queue, 'SET', 'retention', '600');
    const done = await server.run('ADDJOB', queue, MARKUP, '0');
    await server.run('ACKJOB', 'RESULT', MARKUP, done);
    const dead = await server.run('ADDJOB', queue, MARKUP, '0', 'ATTEMPTS', '1', ...header);
    await server.run(
      ['GETJOB', 'FROM', queue],
      ['WORKING', dead, 'PROGRESS', '7', 'TEXT', MARKUP],
      ['NACK', 'ERROR', MARKUP, dead],
    );
    const before = await server.run('ADDJOB', queue, 'a', '0');
    const after = await server.run('ADDJOB', queue, MARKUP, '0', 'AFTER', before);
    await server.run('ACKJOB', 'RESULT', MARKUP, before);
    const batch = await server.run('BATCH', 'NEW', MARKUP, 'COMPLETE', MARKUP);
    const page = await browser.open(server.url + '#/schedules');
    await page.waitForSelector('td:has-text("onerror")');
    await page.click('tr:has-text("onerror") >> text=Details');
    await page.waitForSelector('dialog dt:has-text("__proto__")');
    await page.click('dialog >> text=Close');
    await visit(page, `#/job/${encodeURIComponent(dead)}`);
    for (const title of ['Headers', 'Progress', 'Error'])
      await page.waitForSelector(`section:has(h2:text-is("${title}")) :text("onerror")`);
    await page.waitForSelector('dt:has-text("__proto__")');
    await page.click('.head >> text=Add a copy');
    await page.click('text=Add the job');
    await page.click('.toast >> text=Show');
    await page.waitForSelector('section:has(h2:text-is("Headers")) bdi:has-text("onerror")');
    await visit(page, `#/job/${encodeURIComponent(after)}`);
    await page.waitForSelector('td code:has-text("onerror")');
    await visit(page, `#/job/${encodeURIComponent(batch)}`);
    await page.waitForSelector('section:has(h2:text-is("Batch")) bdi:has-text("onerror")');
    const text = encodeURIComponent(MARKUP);
    for (const [hash, title] of [
      ['#/workers', 'Workers'],
      [`#/job/${encodeURIComponent(done)}`, 'Job'],
      [`#/job/${encodeURIComponent(dead)}`, 'Job'],
      [`#/queue/${queue}?state=dead`, queue],
      [`#/job/${text}`, 'The server replied an error'],
      [`#/${text}`, 'No such view'],
      ['#/constructor', 'No such view'],
      ['#/__proto__', 'No such view'],
      ['#/queue/%', 'No such view'],
      ['#/queue/~!', 'No such view'],
      [`#/queue/${queue}?state=dead&error=${text}&header=~PGI-&older=x`, queue],
      [`#/queue/${queue}?state=constructor&range=~PGI-&order=~PGI-`, queue],
      [`#/queues?filter=${text}`, 'Queues'],
      ['#/queues?filter=~PGI-&sort=~PGI-&page=-1', 'Queues'],
      ['#/?range=~PGI-', 'Overview'],
    ]) {
      await visit(page, hash);
      await page.waitForSelector(`h1:has-text("${title}")`);
    }
    await visit(page, `#/queue/${queue}?state=constructor`);
    await page.waitForSelector('.segments [data-value="all"][aria-pressed="true"]');
    await visit(page, '#/schedules');
    await page.click('tr:has-text("onerror") >> text=Remove');
    await page.click('dialog >> button:text-is("Remove the schedule")');
    await until('the schedule is gone', async () => (await server.run('SCHEDULES')).length === 0);
    await browser.close(page);
  },
};
