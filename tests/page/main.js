'use strict';
// Runs the tests of all files, one after the other, with one server and one browser: main.js [name ...]
const fs = require('node:fs');
const { Browser } = require('./browser');
const { Server } = require('./server');

async function runTest(name, test, tools) {
  const started = Date.now();
  let problem = null;
  try {
    await test(tools);
  } catch (error) {
    problem = error.stack;
  }
  const problems = [...(problem === null ? [] : [problem]), ...tools.browser.takeProblems()];
  console.log(`${problems.length === 0 ? 'ok' : 'not ok'} ${name}`);
  if (problems.length > 0) console.log(problems.join('\n').replace(/^/gm, '# '));
  if (process.env.TIMES) console.log(`# ${Date.now() - started} ms`);
  return problems.length === 0;
}

async function main() {
  const names = process.argv.slice(2);
  const files = fs
    .readdirSync(__dirname)
    .filter((name) => /^test_.*\.js$/.test(name))
    .sort();
  const server = new Server();
  const browser = new Browser();
  let good = true;

  try {
    await server.start();
    await browser.start();
    for (const file of files) {
      for (const [name, test] of Object.entries(require(`./${file}`))) {
        const title = `${file.slice(5, -3)}: ${name}`;
        if (names.length > 0 && !names.some((word) => title.includes(word))) continue;
        good = (await runTest(title, test, { server, browser })) && good;
      }
    }
  } catch (error) {
    console.log(`not ok page\n# ${error.stack.replace(/\n/g, '\n# ')}`);
    good = false;
  }
  await browser.stop();
  const { status, lines } = await server.stop();
  if (status !== 0) console.log(`not ok the server ended with status ${status}`);
  if (!good || status !== 0) console.log(lines.join('\n').replace(/^/gm, '# '));
  // A test that failed may have left a connection open.
  process.exit(good && status === 0 ? 0 : 1);
}

main();
