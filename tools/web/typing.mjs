// How long a person who types waits: from each letter to the results of what stands in the line, in a real browser; and
// how soon the page paints (W22).
//
// CORTEX_WEB_URL="$(cortex open --print)" node typing.mjs     measures a daemon that runs, with the memories it has

import { openBrowser, startDaemon } from './harness.mjs';

const QUESTIONS = ['why does billing fail', 'what is slow in exports', 'who moved the queue to kafka', 'payments and stripe', 'import loses rows', 'login retries keycloak'];

const daemon = await startDaemon();
const { browser, page } = await openBrowser(daemon);
try {
  const base = new URL(daemon.base).origin;
  await page.goto(base);
  await page.locator('#main h1').waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN);
  await page.goto(`${base}/memories`);
  await page.locator('#main h1').waitFor();
  const total = await page.locator('#main .sub').innerText();
  const waits = await page.evaluate(async (questions) => {
    const search = /** @type {HTMLInputElement} */ (document.getElementById('search'));
    const main = /** @type {HTMLElement} */ (document.getElementById('main'));
    search.focus();
    const found = [];
    for (const question of questions) {
      for (let length = 1; length <= question.length; length += 1) {
        const text = question.slice(0, length);
        if (text.endsWith(' ')) continue;
        search.value = text;
        const started = performance.now();
        search.dispatchEvent(new Event('input'));
        const isThere = () => main.querySelector('.sub')?.textContent?.includes(`“${text}”`);
        await new Promise((resolve) => {
          const watch = new MutationObserver(() => {
            if (!isThere()) return;
            watch.disconnect();
            requestAnimationFrame(() => resolve(null));
          });
          watch.observe(main, { childList: true, subtree: true, characterData: true });
        });
        found.push(performance.now() - started);
      }
    }
    return found.sort((a, b) => a - b);
  }, QUESTIONS);
  const at = (/** @type {number} */ share) => `${Math.round(waits[Math.floor(waits.length * share)] ?? Number.NaN)} ms`;
  console.log(`${total}; first paint ${Math.round(paint)} ms; ${waits.length} letters: p50 ${at(0.5)}, p95 ${at(0.95)}, most ${at(0.999)}`);
} finally {
  await browser.close();
  await daemon.stop();
}
