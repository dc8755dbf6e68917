// Pictures of the page, with the memories of a small team: for README, and for people who look at all of them.
//
// CORTEX_BIN=PROGRAM node pictures.mjs ../../docs/images/home.png     the one in README
// CORTEX_BIN=PROGRAM node pictures.mjs --all FOLDER                    every page, light and dark, wide and narrow
// CORTEX_WEB_URL=LINK of `cortex open --print` takes them of a daemon that runs, as it is.

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { openBrowser, startDaemon } from './harness.mjs';
import { writeSessions } from './past_seed.mjs';
import { seed } from './seed.mjs';

const PAGES = ['/', '/memories', '/search?q=why+is+the+import+slow', '/live', '/chat', '/context', '/sessions', '/past', '/past/claude-code%3Aslow-import', '/told', '/timeline', '/projects', '/entities', '/graph', '/lab?q=import', '/journal', '/mind', '/audit', '/runs', '/budget', '/ask', '/access', '/settings', '/transfer', '/docs', '/log', '/talents/default', '/context?when=task&q=import', '/new'];

const [first, folder] = process.argv.slice(2);
if (!first) throw new Error('name the file, or --all and a folder');
const daemon = await startDaemon();
const session = await openBrowser(daemon, { viewport: { width: 1280, height: 860 }, colorScheme: 'light', reducedMotion: 'reduce' });
const base = new URL(daemon.base).origin;
try {
  if (!process.env.CORTEX_WEB_URL && !process.env.EMPTY) {
    writeSessions(daemon.home);
    await seed(session.ask);
    for (const asked of ['why is the import slow', 'who may see customer data', 'cache keys']) await session.ask(`/api/search?q=${encodeURIComponent(asked)}&limit=3`);
    await session.ask('/api/bulletin?refresh=true');
    // A mind that has just been started gets ready a moment later.
    const isReady = () => session.ask('/readyz').then(({ warmup }) => warmup.state === 'warm', () => false);
    for (let tries = 0; tries < 60 && !await isReady(); tries += 1) await new Promise((resolve) => { setTimeout(resolve, 500); });
    await session.ask('/api/past/read', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  }
  if (first !== '--all') {
    await take(session.page, '/', first);
  } else {
    const list = await session.ask('/api/observations?limit=1&preview=1').catch(() => []);
    const pages = list.length > 0 ? [...PAGES, `/m/${list[0].id}`, `/m/${list[0].id}/edit`, `/graph/${list[0].id}`] : PAGES;
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      for (const width of [1280, 390]) {
        const context = await session.browser.newContext({ viewport: { width, height: 860 }, colorScheme, reducedMotion: 'reduce', storageState: await session.context.storageState() });
        const page = await context.newPage();
        const chosen = process.env.ONLY ? pages.filter((path) => process.env.ONLY?.split(',').includes(path)) : pages;
        for (const path of chosen) await take(page, path, join(folder ?? '.', `${path.replace(/\W+/g, '_') || 'home'}-${colorScheme}-${width}.png`));
        await context.close();
      }
    }
  }
} finally {
  await session.browser.close();
  await daemon.stop();
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} path
 * @param {string} file
 */
async function take(page, path, file) {
  await page.goto(base + path);
  await page.locator('#main h1').waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'), null, { timeout: 60_000 });
  mkdirSync(dirname(file), { recursive: true });
  await page.screenshot({ path: file });
}
