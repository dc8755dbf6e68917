// What browser tests share: a daemon with a home of its own, a browser of the distribution, and a page that tells on itself.
//
// CORTEX_BIN names the program. A home is temporary and the port is whatever is free. Where the daemon asks who looks,
// the link of `cortex open --print` is used, as a person would.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium'];
const START_MS = 60_000;

/** @returns {string} */
export function browserPath() {
  const found = [process.env.CHROMIUM, ...BROWSERS].find((path) => path && existsSync(path));
  if (!found) throw new Error('no Chromium: install it (apt-get install chromium) or set CHROMIUM');
  return found;
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/**
 * A daemon with an empty home. CORTEX_WEB_URL names one that runs already, which is then used as it is.
 * @param {string} [settings] what its cortex.toml says
 */
export async function startDaemon(settings = '') {
  const given = process.env.CORTEX_WEB_URL;
  if (given) return daemon(given, given, '', async () => {});
  const binary = process.env.CORTEX_BIN;
  if (!binary) throw new Error('CORTEX_BIN must name the program');
  const home = mkdtempSync(join(tmpdir(), 'cortex-web-'));
  if (settings) writeFileSync(join(home, 'cortex.toml'), settings);
  const port = await freePort();
  const env = { ...process.env, CORTEX_HOME: home, CORTEX_PORT: String(port), HOME: home };
  const child = spawn(binary, ['serve'], { env, cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
  const base = `http://127.0.0.1:${port}`;
  const until = Date.now() + START_MS;
  for (;;) {
    const up = await fetch(`${base}/healthz`).then((answer) => answer.ok, () => false);
    if (up) break;
    if (Date.now() > until || child.exitCode !== null) {
      child.kill('SIGTERM');
      throw new Error('the daemon did not start');
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  let link = base;
  try {
    link = execFileSync(binary, ['open', '--print'], { env, cwd: home, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim().split('\n').at(-1) || base;
  } catch {
    // A program without `open` lets everybody on this machine in.
  }
  return daemon(base, link, home, stop);
}

/**
 * @param {string} base
 * @param {string} link loads the page as the owner
 * @param {string} home its folder, which is the home of its person too
 * @param {() => Promise<void>} stop
 */
async function daemon(base, link, home, stop) {
  return { base, link, home, stop };
}

/** @typedef {Awaited<ReturnType<typeof startDaemon>>} Daemon */

/**
 * A browser that looks as the owner; requests of the test itself go with the same cookies.
 * @param {Daemon} daemon
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export async function openBrowser(daemon, options = {}) {
  const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox', '--disable-gpu'] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.addInitScript(() => {
    const told = /** @type {any} */ (window);
    told.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => told.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('dialog', (dialog) => { errors.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await page.goto(daemon.link);
  /**
   * @param {string} path
   * @param {RequestInit} [init]
   */
  const ask = async (path, init = {}) => {
    // As the page sends it: a cookie without an origin changes nothing.
    /** @type {any} */
    const given = { method: init.method ?? 'GET', headers: { origin: daemon.base, ...init.headers }, timeout: 120_000 };
    if (init.body !== undefined) given.data = init.body;
    const answer = await context.request.fetch(daemon.base + path, given);
    const text = await answer.text();
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${text}`);
    return text ? JSON.parse(text) : null;
  };
  return { browser, context, page, errors, ask };
}

/**
 * Keeps a picture of the page where a test failed, for people and for CI.
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {() => Promise<void>} work
 */
export async function pictured(page, name, work) {
  try {
    await work();
  } catch (error) {
    const folder = process.env.WEB_FAILURES ?? join(tmpdir(), 'cortex-web-failures');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${name.replace(/\W+/g, '-')}.png`);
    await page.screenshot({ path, fullPage: true });
    console.error(`a picture of the page is in ${path}`);
    throw error;
  }
}
