'use strict';
// Login, logout, and users with few rights. The last test leaves the server with a password.
const assert = require('node:assert');
const { auditAccess, picture, visit } = require('./browser');
const { until } = require('./server');

const ADMIN = { Authorization: 'Basic ' + Buffer.from('default:secret').toString('base64') };

async function logIn(page, user, password) {
  await page.fill('[name=user]', user);
  await page.fill('[name=password]', password);
  await page.click('button:text-is("Log in")');
}

module.exports = {
  async 'a login is needed, and ends'({ server, browser }) {
    await server.run(
      [
        'ACL',
        'SETUSER',
        'reader',
        'on',
        '>pass',
        '~mail*',
        '+qscan',
        '+qstat',
        '+jscan',
        '+show',
        '+history',
        '+hello',
      ],
      ['RPUSH', 'mail:reader', 'x'],
    );
    await server.run('CONFIG', 'SET', 'requirepass', 'secret');
    server.headers = ADMIN;
    const page = await browser.open(server.url + '#/queues');
    await page.waitForSelector('.login');
    assert.deepEqual(await auditAccess(page), []);
    await picture(page, 'login-light');
    await page.fill('[name=user]', 'typed');
    for (let i = 0; i < 2; i++) {
      const asked = page.waitForResponse('**/api/session');
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
      await asked;
    }
    assert.equal(await page.inputValue('[name=user]'), 'typed');
    await logIn(page, 'default', 'wrong');
    await page.waitForSelector('.problem:text-matches("^Invalid username-password pair")');
    await logIn(page, 'default', 'secret');
    await page.waitForSelector('h1:has-text("Queues")');
    await page.reload();
    await page.waitForSelector('h1:has-text("Queues")');
    await page.click('text=Log out');
    await page.waitForSelector('.login');
    await page.reload();
    await page.waitForSelector('.login');
    await browser.close(page);
  },

  async 'a user without a right sees which right is missing'({ server, browser }) {
    const page = await browser.open(server.url);
    await logIn(page, 'reader', 'pass');
    await page.waitForSelector('text=User reader');
    await page.waitForSelector('.live:has-text("no live figures")');
    await visit(page, '#/queue/mail:reader');
    await page.waitForSelector('.live-on:has-text("live")');
    await page.waitForSelector('[data-value=queued] .count:text-is("1")');
    await server.run('RPUSH', 'mail:reader', 'y');
    await page.waitForSelector('[data-value=queued] .count:text-is("2")');
    await visit(page, '#/queue/orders');
    await page.waitForSelector('p:has-text("The user reader has no right on the queue orders.")');
    await visit(page, '#/workers');
    await page.waitForSelector('h1:has-text("A right is missing")');
    assert.match(await page.innerText('pre'), /^User reader has no permissions to run the 'workers' command/);
    assert.deepEqual(await auditAccess(page), []);
    await picture(page, 'noperm-light');
    await visit(page, '#/queues?filter=mail:reader');
    await page.click('button[aria-label="Pause mail:reader"]');
    await page.waitForSelector('.toast-error:has-text("has no permissions")');
    await page.waitForSelector('button[aria-label="Pause mail:reader"][disabled]');
    assert.equal(await server.run('PAUSE', 'mail:reader', 'state'), 'none');
    await server.run('ACL', 'DELUSER', 'reader');
    await page.waitForSelector('.login');
    await until('the session has ended', async () => (await page.request.get(server.url + 'api/session')).ok());
    await browser.close(page);
  },
};
