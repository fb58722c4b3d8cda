'use strict';
// Every action changes what the server has.
const assert = require('node:assert');
const { visit, waitRows } = require('./browser');
const { until } = require('./server');

module.exports = {
  async 'a queue is paused and resumed'({ server, browser }) {
    await server.run('RPUSH', 'act:pause', 'x');
    const page = await browser.open(server.url + '#/queues?filter=act:pause');
    await page.click('button[aria-label="Pause act:pause"]');
    await until('all', async () => (await server.run('PAUSE', 'act:pause', 'state')) === 'all');
    await page.click('button[aria-label="Resume act:pause"]');
    await until('none', async () => (await server.run('PAUSE', 'act:pause', 'state')) === 'none');
    await visit(page, '#/queue/act:pause');
    await page.selectOption('select[aria-label="Pause of the queue"]', 'out');
    await until('out', async () => (await server.run('PAUSE', 'act:pause', 'state')) === 'out');
    await page.waitForSelector('h1 .badge:has-text("output is paused")');
    await browser.close(page);
  },

  async 'a job is added with options, and the server says what is wrong'({ server, browser }) {
    const page = await browser.open(server.url + '#/queue/act:add');
    await page.click('.head >> text=Add a job');
    await page.fill('[name=body]', 'line one\nline two');
    await page.fill('[name=DELAY]', '100');
    await page.click('dialog summary');
    await page.fill('[name=PRIORITY]', '7');
    await page.fill('[name=TTL]', '50');
    await page.click('text=Add the job');
    await page.waitForSelector('dialog .problem:has-text("DELAY is greater than TTL")');
    await page.fill('[name=TTL]', '5000');
    await page.click('text=Add the job');
    await page.click('.toast >> text=Show');
    await page.waitForSelector('.badge-delayed');
    const [, [id]] = await server.run('JSCAN', '0', 'QUEUE', 'act:add');
    const job = await server.fields('SHOW', id);
    assert.deepEqual([job.body, job.priority, job.delay], ['line one\nline two', 7, 100]);
    await browser.close(page);
  },

  async 'a job is added to a queue that the user names'({ server, browser }) {
    const page = await browser.open(server.url + '#/queues');
    await page.click('.head >> text=Add a job');
    await page.fill('[name=queue]', 'act:named');
    await page.click('dialog >> button:text-is("Continue")');
    await page.waitForSelector('dialog h2:has-text("Add a job to act:named")');
    await page.fill('[name=body]', 'x');
    await page.click('text=Add the job');
    await page.waitForSelector('tr:has-text("act:named")');
    assert.equal(await server.run('QLEN', 'act:named'), 1);
    await browser.close(page);
  },

  async 'settings are saved and reset'({ server, browser }) {
    const page = await browser.open(server.url + '#/queue/act:settings');
    const setting = async (name) => (await server.fields('QCONFIG', 'act:settings', 'GET', name))[name];
    await page.click('.head button:text-is("Settings")');
    const names = Object.keys(await server.fields('QCONFIG', 'act:settings', 'GET'));
    for (const name of names)
      await page.waitForSelector(`fieldset:not(:has(legend:text-is("Others"))) [name="${name}"]`);
    await page.fill('[name=rate]', 'fast');
    await page.click('dialog >> button:text-is("Save")');
    await page.waitForSelector('dialog .problem:has-text("Rate must be a number")');
    assert.doesNotMatch(await page.innerText('dialog .problem'), /ERR|Usage/);
    assert.equal(await page.evaluate(() => document.activeElement.name), 'rate');
    await page.fill('[name=rate]', '12/m');
    await page.check('[name=events]');
    await page.selectOption('[name=expired]', 'dead');
    await page.click('dialog >> button:text-is("Save")');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.deepEqual(await Promise.all(['rate', 'events', 'expired', 'attempts'].map(setting)), [
      '12/m',
      '1',
      'dead',
      '0',
    ]);
    await page.waitForSelector('.line span:text-is("12/m")');
    await page.click('.head button:text-is("Settings")');
    await page.click('dialog >> button:text-is("Reset all")');
    await page.click('dialog >> button:text-is("Reset the settings")');
    await until('reset', async () => (await setting('rate')) === '0');
    await browser.close(page);
  },

  async 'the jobs of a queue are deleted'({ server, browser }) {
    const queue = 'act:empty';
    await server.addDead(queue, Array(3).fill('failed'));
    await server.run(
      ['RPUSH', queue, 'a', 'b', 'c'],
      ['GETJOB', 'FROM', queue],
      ['ADDJOB', queue, 'later', '0', 'DELAY', '1000'],
    );
    const first = await server.run('ADDJOB', 'elsewhere', 'a', '0');
    await server.run('ADDJOB', queue, 'after it', '0', 'AFTER', first);
    const page = await browser.open(`${server.url}#/queue/${queue}`);
    const left = (...states) => server.run('QLEN', queue, ...states);
    await page.click('.head >> text=Delete jobs');
    await page.waitForSelector('dialog label:has-text("Queued: 2")');
    await page.click('dialog >> button:text-is("Delete the jobs")');
    await until('no job is queued', async () => (await left()) === 0);
    assert.equal(await left('ACTIVE', 'DELAYED', 'DEAD'), 5);
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.click('.head >> text=Delete jobs');
    await page.check('dialog >> [name=others]');
    await page.check('dialog >> [name=dead]');
    await page.click('dialog >> button:text-is("Delete the jobs")');
    await until('no job is left', async () => (await left('ALL', 'DEAD', 'AFTER')) === 0);
    await page.waitForSelector('text=No such job.');
    await browser.close(page);
  },

  async 'the deletion of jobs says that jobs are left after a stop'({ server, browser }) {
    const queue = 'act:stopped';
    const jobs = Array(600).fill('x');
    for (let i = 0; i < 2; i++) await server.run('ADDJOBS', queue, '0', 'DELAY', '1000', 'JOBS', '600', ...jobs);
    const page = await browser.open(`${server.url}#/queue/${queue}`);
    let held = null;
    await page.route('**/api/command', (route) => {
      if (route.request().postData().includes('DELJOB')) held = route;
      else route.continue();
    });
    await page.click('.head >> text=Delete jobs');
    await page.check('dialog >> [name=others]');
    await page.click('dialog >> button:text-is("Delete the jobs")');
    await until('the first step', () => held !== null);
    await page.click('dialog >> button:text-is("Stop")');
    await held.continue();
    await page.waitForSelector('.toast:has-text("Some of the chosen jobs of act:stopped are left.")');
    assert.ok((await server.run('QLEN', queue, 'DELAYED')) > 0);
    await page.unroute('**/api/command');
    await browser.close(page);
  },

  async 'a job is delayed, queued, copied and deleted'({ server, browser }) {
    const id = await server.run('ADDJOB', 'act:job', 'x', '0');
    const state = async () => (await server.fields('SHOW', id))?.state;
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.click('.head >> text=Delay');
    await page.fill('[name=seconds]', '500');
    await page.click('dialog >> button:text-is("Delay")');
    await until('the job waits', async () => (await state()) === 'active');
    await page.click('text=Queue now');
    await until('the job is queued', async () => (await state()) === 'queued');
    await page.waitForSelector('.badge-queued');
    await page.click('text=Add a copy');
    await page.click('text=Add the job');
    await until('the copy', async () => (await server.run('QLEN', 'act:job')) === 2);
    await page.click('.head >> text=Delete');
    await page.waitForSelector('dialog h2:has-text("Delete 1 job?")');
    await page.click('dialog >> text=Cancel');
    assert.equal(await state(), 'queued');
    await page.click('.head >> text=Delete');
    await page.click('dialog >> button:text-is("Delete 1 job")');
    await until('the job is gone', async () => (await server.run('SHOW', id)) === null);
    await page.waitForFunction(() => location.hash.startsWith('#/queue/act:job'));
    await browser.close(page);
  },

  async 'dead jobs are revived, one or all'({ server, browser }) {
    const [id] = await server.addDead('act:dead', Array(40).fill('failed'));
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.click('text=Revive');
    await until('one is queued', async () => (await server.run('QLEN', 'act:dead')) === 1);
    await visit(page, '#/queue/act:dead?state=dead');
    await page.click('text=Revive all 39');
    await page.waitForSelector('dialog h2:has-text("Revive 39 dead jobs of act:dead?")');
    await page.click('dialog >> button:text-is("Revive")');
    await page.waitForSelector('.toast:has-text("revived 39 jobs")');
    assert.equal(await server.run('QLEN', 'act:dead'), 40);
    await browser.close(page);
  },

  async 'a job is cancelled'({ server, browser }) {
    const id = await server.run('ADDJOB', 'act:cancel', 'x', '0', 'DELAY', '1000');
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.click('.head >> text=Cancel the job');
    await page.click('dialog >> button:text-is("Cancel 1 job")');
    await page.waitForSelector('text=does not exist');
    assert.equal(await server.run('SHOW', id), null);
    await browser.close(page);
  },

  async 'dead jobs are selected, revived with a rate, moved and deleted'({ server, browser }) {
    const queue = 'act:letters';
    const ids = await server.addDead(queue, Array(9).fill('failed'));
    await server.run(
      ...ids.map((id) => ['ENQUEUE', id]),
      ['GETJOB', 'COUNT', '9', 'FROM', queue],
      ['NACK', 'ERROR', 'HTTP 503', ...ids.slice(0, 3)],
      ['NACK', 'ERROR', 'HTTP 404', ...ids.slice(3, 6)],
      ['NACK', 'ERROR', 'no route', ...ids.slice(6)],
    );
    const page = await browser.open(`${server.url}#/queue/${queue}?state=dead`);
    const rows = (count) => waitRows(page, count);
    const dead = (count) => until(`${count} dead`, async () => (await server.run('QLEN', queue, 'DEAD')) === count);
    await rows(9);
    await page.click('summary:text-is("Filter")');
    await page.fill('text=Error contains', 'HTTP 503');
    await page.press('text=Error contains', 'Tab');
    await rows(3);
    await page.locator('td input[type=checkbox]').first().check();
    await page.waitForSelector('text=Revive all', { state: 'hidden' });
    await page.click('.selection >> text=Clear');
    await page.waitForSelector('button:text-is("Delete all 3")');
    await page.fill('text=Died longer ago than', '1h');
    await page.press('text=Died longer ago than', 'Tab');
    await page.waitForSelector('text=No such job.');
    await page.waitForSelector('text=Delete all', { state: 'hidden' });
    await page.fill('text=Died longer ago than', '');
    await page.press('text=Died longer ago than', 'Tab');
    await rows(3);
    await page.click('text=Revive all 3');
    await page.fill('[name=RATE]', '1');
    await page.click('dialog >> button:text-is("Revive")');
    await page.waitForSelector('.toast:has-text("revived 3 jobs")');
    await dead(6);
    await page.fill('text=Error contains', 'HTTP 404');
    await page.press('text=Error contains', 'Tab');
    await rows(3);
    await page.click('text=Revive all 3');
    await page.fill('[name=TO]', 'act:moved');
    await page.click('dialog >> button:text-is("Revive")');
    await until('moved', async () => (await server.run('QLEN', 'act:moved')) === 3);
    await dead(3);
    await page.fill('text=Error contains', 'no route');
    await page.press('text=Error contains', 'Tab');
    await rows(3);
    await page.click('text=Delete all 3');
    await page.click('dialog >> button:text-is("Delete 3 jobs")');
    await dead(0);
    await browser.close(page);
  },

  async 'a dead job is edited'({ server, browser }) {
    const [id] = await server.addDead('act:edit', Array(1).fill('failed'));
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.click('.head >> text=Edit');
    await page.fill('[name=body]', 'to: bob\nsubject: hello');
    await page.fill('[name=ATTEMPTS]', '4');
    await page.click('dialog >> button:text-is("Save")');
    await page.waitForSelector('pre:has-text("subject: hello")');
    const job = await server.fields('SHOW', id);
    assert.deepEqual([job.body, job.attempts, job.state], ['to: bob\nsubject: hello', 4, 'dead']);
    await browser.close(page);
  },

  async 'a job is added and copied with headers'({ server, browser }) {
    const page = await browser.open(server.url + '#/queue/act:headers');
    await page.click('.head >> text=Add a job');
    await page.fill('[name=body]', 'x');
    await page.click('dialog summary');
    await page.fill('[name=headers]', 'no colon');
    await page.click('text=Add the job');
    await page.waitForSelector('dialog .problem:has-text("Headers have the form")');
    await page.fill('[name=headers]', 'tenant: acme\nurl: http://a.example:80/');
    await page.click('text=Add the job');
    await page.click('.toast >> text=Show');
    await page.waitForSelector('dd:has-text("http://a.example:80/")');
    await page.click('text=Add a copy');
    await page.click('text=Add the job');
    await until('the copy', async () => (await server.run('QLEN', 'act:headers')) === 2);
    const [, jobs] = await server.run('JSCAN', '0', 'QUEUE', 'act:headers', 'HEADER', 'url', 'http://a.example:80/');
    assert.equal(jobs.length, 2);
    await browser.close(page);
  },

  async 'selected jobs are queued and deleted'({ server, browser }) {
    await server.run(
      ...Array.from({ length: 5 }, (_, i) => ['ADDJOB', 'act:select', `job ${i}`, '0', 'DELAY', '1000']),
    );
    const page = await browser.open(server.url + '#/queue/act:select');
    const boxes = page.locator('td input[type=checkbox]');
    await page.waitForFunction(() => document.querySelectorAll('td input[type=checkbox]').length === 5);
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.click('.selection >> text=Queue now');
    await until('two are queued', async () => (await server.run('QLEN', 'act:select')) === 2);
    await page.waitForFunction(() => document.querySelectorAll('td .badge-queued').length === 2);
    for (const n of [0, 2, 4]) await boxes.nth(n).check();
    await page.click('.selection >> text=Delete');
    await page.click('dialog >> button:text-is("Delete 3 jobs")');
    await waitRows(page, 2);
    await browser.close(page);
  },

  async 'all jobs of a page are selected, cancelled and revived'({ server, browser }) {
    const ids = await server.addDead('act:page', Array(60).fill('failed'));
    const page = await browser.open(server.url + '#/queue/act:page?state=dead');
    const rows = (count) => waitRows(page, count);
    await rows(50);
    await page.check('th input');
    await page.waitForSelector('text=50 jobs selected');
    await page.click('.selection >> text=Revive');
    await until('they are queued', async () => (await server.run('QLEN', 'act:page')) === 50);
    await rows(10);
    assert.equal(await page.isChecked('th input'), false);
    await page.click('.segments >> text=Queued');
    await rows(50);
    await page.check('th input');
    await page.locator('td input[type=checkbox]').first().uncheck();
    assert.equal(await page.isChecked('th input'), false);
    await page.click('.selection >> text=Cancel');
    await page.click('dialog >> button:text-is("Cancel 49 jobs")');
    await until('they are cancelled', async () => (await server.run('QLEN', 'act:page')) === 1);
    await rows(1);
    await server.run('DELJOB', ...ids);
    await browser.close(page);
  },

  async 'dead jobs of several queues are revived'({ server, browser }) {
    await server.run(['DELDEAD', 'act:edit'], ['DELDEAD', 'act:letters']);
    await server.addDead('act:many:a', Array(3).fill('failed'));
    await server.addDead('act:many:b', Array(2).fill('failed'));
    const page = await browser.open(server.url + '#/dead?error=failed');
    await page.click('button:text-is("Revive all 5")');
    await page.click('dialog >> button:text-is("Revive")');
    await page.waitForSelector('.toast:has-text("revived 5 jobs")');
    assert.deepEqual(await server.run(['QLEN', 'act:many:a'], ['QLEN', 'act:many:b']), [3, 2]);
    await browser.close(page);
  },

  async 'workers show their jobs, which are released, and idle workers'({ server, browser }) {
    const [id] = await server.run(...Array.from({ length: 3 }, (_, i) => ['ADDJOB', 'act:workers', `job ${i}`, '0']));
    await server.run(
      ['CLIENT', 'SETNAME', 'mailer-1'],
      ['GETJOB', 'COUNT', '3', 'FROM', 'act:workers'],
      ['WORKING', id, 'PROGRESS', '40', 'TEXT', 'page 4 of 10'],
    );
    await until('the name is known', async () =>
      JSON.stringify(await server.run('WORKERS', 'act:workers')).includes('mailer-1'),
    );
    const idle = server.run(['CLIENT', 'SETNAME', 'idler-1'], ['GETJOB', 'FROM', 'act:nothing']);
    const page = await browser.open(server.url + '#/workers');
    const jobs = page.locator('.below:has([aria-label="Running jobs of mailer-1"])');
    await jobs.locator('tbody tr').nth(2).waitFor();
    await jobs.locator('bdi:text-is("40 %: page 4 of 10")').waitFor();
    const links = jobs.locator('tbody tr td:first-child a');
    await links.first().focus();
    await page.keyboard.press('j');
    assert.ok(await links.nth(1).evaluate((link) => link === document.activeElement));
    await server.run('WORKING', id, 'PROGRESS', '50');
    await jobs.locator('bdi:text-is("50 %")').waitFor();
    await page.click('button[aria-label="Jobs of mailer-1"]');
    await jobs.waitFor({ state: 'detached' });
    assert.equal(await page.getAttribute('button[aria-label="Jobs of mailer-1"]', 'aria-expanded'), 'false');
    await page.waitForSelector('section:has(h2:has-text("Idle workers")) td:has-text("idler-1")');
    await visit(page, `#/job/${encodeURIComponent(id)}`);
    await page.waitForSelector('dd:has-text("mailer-1")');
    await visit(page, '#/workers');
    await page.click('tr:has-text("mailer-1") >> text=Release');
    await page.waitForSelector('dialog p:has-text("3 running jobs")');
    await page.click('dialog >> button:text-is("Release 3 running jobs")');
    await until('they are queued', async () => (await server.run('QLEN', 'act:workers')) === 3);
    await page.waitForSelector('tr:has-text("mailer-1")', { state: 'detached' });
    await server.run('RPUSH', 'act:nothing', 'x');
    await idle;
    await browser.close(page);
  },

  async 'a schedule is added, run and removed'({ server, browser }) {
    const page = await browser.open(server.url + '#/schedules');
    await page.click('text=Add a schedule');
    await page.fill('[name=name]', 'nightly');
    await page.fill('[name=cron]', '61 * * * *');
    await page.fill('[name=queue]', 'act:schedule');
    await page.fill('[name=body]', 'all accounts');
    await page.click('dialog summary');
    await page.fill('[name=PRIORITY]', '5');
    await page.selectOption('[name=OVERLAP]', 'skip');
    await page.fill('[name=headers]', 'tenant: acme');
    await page.click('text=Add the schedule');
    await page.waitForSelector('dialog .problem:has-text("he field minute is wrong")');
    await page.fill('[name=cron]', '30 2 * * *');
    await page.click('text=Add the schedule');
    await page.waitForSelector('tr:has-text("nightly") time:has-text("in ")');
    await page.click('tr:has-text("nightly") >> text=Details');
    await page.waitForSelector('dialog dd:text-is("skip")');
    await page.waitForSelector('dialog dd:has-text("all accounts")');
    await page.waitForSelector('dialog dd:has-text("acme")');
    assert.equal(await page.locator('dialog .ticks li').count(), 10);
    assert.match(await page.locator('dialog .ticks li').first().innerText(), / 02:30:00 /);
    await page.click('dialog >> text=Close');
    await page.click('tr:has-text("nightly") >> text=Run now');
    await page.click('.toast >> text=Show');
    await page.waitForSelector('pre:has-text("all accounts")');
    await page.waitForSelector('dt:has-text("tick")');
    assert.equal(await server.run('QLEN', 'act:schedule'), 1);
    await visit(page, '#/schedules');
    await page.click('tr:has-text("nightly") >> text=Remove');
    await page.click('dialog >> button:text-is("Remove the schedule")');
    await until('the schedule is gone', async () => (await server.run('SCHEDULES')).length === 0);
    await browser.close(page);
  },

  async 'the slow log is cleared'({ server, browser }) {
    const page = await browser.open(server.url + '#/slowlog');
    await page.click('.head >> text=Clear');
    await page.click('dialog >> button:text-is("Clear the log")');
    await page.waitForSelector('text=No command was slow.');
    await browser.close(page);
  },
};
