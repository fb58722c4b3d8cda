'use strict';
// Debian's Chromium without windows, and pages that note every script error and every violation of the content security
// policy.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const axe = require('axe-core');
const { DEADLINE_MS } = require('./server');

const PICTURES = path.join(process.env.BUILD ?? 'build/plain', '..', 'page-pictures');
// The program without windows takes half the processor time of the other.
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-software-rasterizer',
  '--in-process-gpu',
  '--renderer-process-limit=1',
  '--disable-quic',
  '--no-first-run',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

class Browser {
  async start() {
    fs.mkdirSync(PICTURES, { recursive: true });
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'pgdisque-browser.'));
    this.browser = await chromium.launch({
      executablePath: PROGRAMS.find((program) => fs.existsSync(program)),
      args: FLAGS,
      timeout: DEADLINE_MS,
      env: { ...process.env, HOME: this.profile },
    });
    this.problems = [];
  }

  // A page of its own session. options: those of newContext() of Playwright.
  async open(url, options = {}) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 860 },
      locale: 'en-GB',
      timezoneId: 'UTC',
      ...options,
    });
    context.setDefaultTimeout(DEADLINE_MS);
    await context.addInitScript(() => {
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
    });
    const page = await context.newPage();
    page.on('pageerror', (error) => this.problems.push(`script error: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.problems.push(`a script opened a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    if (url) await page.goto(url);
    return page;
  }

  async close(page) {
    this.problems.push(...(await page.evaluate(() => window.violations)).map((text) => `policy: ${text}`));
    if (await page.evaluate(() => window.hit !== undefined)) this.problems.push('a script of a name or a body has run');
    await page.context().close();
  }

  // Returns the problems since the last call.
  takeProblems() {
    return this.problems.splice(0);
  }

  async stop() {
    await this.browser?.close();
    if (this.profile) fs.rmSync(this.profile, { recursive: true, force: true });
  }
}

// Shows a view and waits until it has its data.
async function visit(page, hash) {
  await page.evaluate((value) => {
    document.querySelector('.view')?.remove();
    if (location.hash === value) dispatchEvent(new Event('hashchange'));
    else location.hash = value;
  }, hash);
  await page.waitForSelector('.view:not([aria-busy]) h1');
}

// Waits until the lists in that part of the page have that many rows.
function waitRows(page, count, part = '') {
  return page.waitForFunction(
    ([selector, n]) => document.querySelectorAll(selector).length === n,
    [`${part} tbody tr`, count],
  );
}

// Serious problems of accessibility in the page as it is, as texts.
async function auditAccess(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations
    .filter((rule) => ['serious', 'critical'].includes(rule.impact))
    .map(
      (rule) =>
        `${rule.id}: ${rule.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join(' | ')}`,
    );
}

function picture(page, name, options = {}) {
  return page.screenshot({ path: path.join(PICTURES, `${name}.png`), ...options });
}

module.exports = { Browser, auditAccess, picture, visit, waitRows };
