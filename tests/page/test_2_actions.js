'use strict';
// Every action changes what the server has.
const assert = require('node:assert');
const { visit } = require('./browser');
const { until } = require('./server');

async function addDead(server, queue, count) {
  const ids = await server.run(
    ...Array.from({ length: count }, (_, i) => ['ADDJOB', queue, `dead ${i}`, '0', 'ATTEMPTS', '1']),
  );
  await server.run(['GETJOB', 'COUNT', count, 'FROM', queue], ['NACK', 'ERROR', 'failed', ...ids]);
  return ids;
}

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
    await page.fill('[name=PRIORITY]', '7');
    await page.fill('[name=DELAY]', '100');
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

  async 'settings are saved and reset'({ server, browser }) {
    const page = await browser.open(server.url + '#/queue/act:settings');
    const setting = async (name) => (await server.fields('QCONFIG', 'act:settings', 'GET', name))[name];
    await page.click('.head button:text-is("Settings")');
    await page.fill('[name=rate]', 'fast');
    await page.click('dialog >> button:text-is("Save")');
    await page.waitForSelector('dialog .problem:has-text("rate must be a number")');
    await page.fill('[name=rate]', '12');
    await page.click('dialog >> button:text-is("Save")');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.equal(await setting('rate'), '12');
    assert.equal(await setting('attempts'), '0');
    await page.click('.head button:text-is("Settings")');
    await page.click('dialog >> button:text-is("Reset all")');
    await page.click('dialog >> button:text-is("Reset the settings")');
    await until('reset', async () => (await setting('rate')) === '0');
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
    const [id] = await addDead(server, 'act:dead', 40);
    const page = await browser.open(`${server.url}#/job/${encodeURIComponent(id)}`);
    await page.click('text=Revive');
    await until('one is queued', async () => (await server.run('QLEN', 'act:dead')) === 1);
    await visit(page, '#/queue/act:dead?state=dead');
    await page.click('text=Revive all dead');
    await page.waitForSelector('dialog h2:has-text("Revive 39 dead jobs of act:dead?")');
    await page.click('dialog >> button:text-is("Revive 39 dead jobs")');
    await page.waitForSelector('.toast:has-text("revived 39 jobs")');
    assert.equal(await server.run('QLEN', 'act:dead'), 40);
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
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
    await browser.close(page);
  },

  async 'the jobs of a worker are released'({ server, browser }) {
    await server.run(...Array.from({ length: 3 }, (_, i) => ['ADDJOB', 'act:workers', `job ${i}`, '0']));
    await server.run(['CLIENT', 'SETNAME', 'mailer-1'], ['GETJOB', 'COUNT', '3', 'FROM', 'act:workers']);
    await until('the name is known', async () =>
      JSON.stringify(await server.run('WORKERS', 'act:workers')).includes('mailer-1'),
    );
    const page = await browser.open(server.url + '#/workers');
    await page.click('tr:has-text("mailer-1") >> text=Release');
    await page.waitForSelector('dialog p:has-text("3 running jobs")');
    await page.click('dialog >> button:text-is("Release 3 running jobs")');
    await until('they are queued', async () => (await server.run('QLEN', 'act:workers')) === 3);
    await browser.close(page);
  },

  async 'a schedule is added, run and removed'({ server, browser }) {
    const page = await browser.open(server.url + '#/schedules');
    await page.click('text=Add a schedule');
    await page.fill('[name=name]', 'nightly');
    await page.fill('[name=cron]', '61 * * * *');
    await page.fill('[name=queue]', 'act:schedule');
    await page.fill('[name=body]', 'all accounts');
    await page.fill('[name=PRIORITY]', '5');
    await page.click('text=Add the schedule');
    await page.waitForSelector('dialog .problem:has-text("the field minute is wrong")');
    await page.fill('[name=cron]', '30 2 * * *');
    await page.click('text=Add the schedule');
    await page.waitForSelector('tr:has-text("nightly") time:has-text("in ")');
    await page.click('tr:has-text("nightly") >> text=Run now');
    assert.equal(await page.inputValue('[name=body]'), 'all accounts');
    assert.equal(await page.inputValue('[name=PRIORITY]'), '5');
    await page.click('text=Add the job');
    await until('the job is added', async () => (await server.run('QLEN', 'act:schedule')) === 1);
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
