// Hostile memories on every page, in a real browser: nothing runs, nothing is loaded, the policy has nothing to report.
// And every page without serious findings of axe-core, light and dark, wide and narrow.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { HOSTILE } from '../fixtures/hostile.mjs';
import { openBrowser, pictured, startDaemon } from '../harness.mjs';
import { writeSessions } from '../past_seed.mjs';
import { seed } from '../seed.mjs';

const PAGES = ['/', '/memories', '/search?q=script', '/live', '/context', '/sessions', '/past', '/past/claude-code%3Aslow-import', '/chat', '/told', '/timeline', '/journal', '/journal/1', '/settings', '/projects', '/entities', '/graph', '/mind', '/audit', '/runs', '/budget', '/ask', '/access', '/docs', '/transfer', '/lab?q=script', '/new', '/log', '/talents/default', '/context?when=asks', '/context?when=task&q=import'];

/** @type {Awaited<ReturnType<typeof startDaemon>>} */
let daemon;
/** @type {Awaited<ReturnType<typeof openBrowser>>} */
let session;

before(async () => {
  daemon = await startDaemon();
  session = await openBrowser(daemon);
});

after(async () => {
  await session?.browser.close();
  await daemon?.stop();
});

test('an empty home says what to do first', async () => {
  const { page } = session;
  await page.goto(daemon.base);
  await page.getByText('Connect an agent').waitFor();
  await page.getByText('cortex setup claude-code', { exact: true }).waitFor();
  await page.getByText('No coding agent left a session').waitFor();
});

test('axe-core finds nothing serious on any page', async () => {
  const { page, ask } = session;
  writeSessions(daemon.home);
  await seed(ask);
  const long = 'com.example.service.AbstractSingletonProxyFactoryBeanInterceptor.invokeWithRetryAndCircuitBreaker';
  const odd = [['لا تكتب أبدًا قبل المزامنة مع القرص', 'الإجابة وعد.', 'atlas-api'], [`${long}.java:1042`, `at ${long}`, 'a-project-with-a-very-long-name-that-nobody-abbreviated']];
  for (const [title, content, project] of odd) await ask('/api/observations', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ title, content, project, type: 'rule' }) });
  await ask('/api/past/read', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const list = await ask('/api/observations?limit=100&preview=1');
  const id = list.find((/** @type {any} */ memory) => memory.title.startsWith('Cache keys')).id;
  const found = [];
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const width of [1280, 390]) {
      // The policy forbids code from text, so axe needs a context that is let past it; the other tests are not.
      const context = await session.browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true, reducedMotion: 'reduce', storageState: await session.context.storageState() });
      const other = await context.newPage();
      for (const path of [...PAGES, `/m/${id}`, `/m/${id}/edit`, `/graph/${id}`]) {
        await other.goto(daemon.base + path);
        await other.locator('#main h1').waitFor();
        await other.waitForFunction(() => !document.querySelector('[aria-busy=true]'));
        await other.evaluate(axe);
        const { violations } = await other.evaluate(() => /** @type {any} */ (window).axe.run());
        for (const each of violations.filter((/** @type {any} */ one) => one.impact === 'serious' || one.impact === 'critical')) {
          found.push(`${path} ${colorScheme} ${width}: ${each.id} ${each.nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.target} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
        }
        const sideways = await other.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        if (sideways) found.push(`${path} ${width}: scrolls sideways`);
      }
      await context.close();
    }
  }
  assert.deepEqual(found, []);
  await page.goto(daemon.base);
});

test('hostile memories stay text on every page', async () => {
  const { page, ask, errors } = session;
  const post = (/** @type {string} */ path, /** @type {any} */ body) => ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const ids = [];
  for (const [index, text] of HOSTILE.entries()) {
    const line = text.replace(/[\n\t\u0001\u2028]/g, ' ').trim();
    const saved = await post('/api/observations', { title: `${index} ${line}`.slice(0, 200), content: `script ${text.replaceAll('\u0001', '')}`, type: 'fact', project: index % 7 === 0 ? `<b onclick=window.hit=1>p${index}</b>`.slice(0, 60) : 'hostile', tags: [`<i>${index}`] });
    ids.push(saved.id);
  }
  await post('/api/prompts', { content: HOSTILE.slice(0, 8).join('\n'), project: 'hostile' });
  await post('/api/sessions', { id: 'hostile-1', project: 'hostile', agent: '<img src=x onerror=window.hit=1>', directory: '</code><script>window.hit=1</script>' });
  await post('/api/sessions/hostile-1/end', { summary: HOSTILE.join('\n\n') });
  await post('/api/graph/edges', { from_obs_id: ids[0], to_obs_id: ids[1], relation_type: 'relates_to' });
  /** @type {string[]} */
  const outside = [];
  page.on('request', (request) => { if (!request.url().startsWith(daemon.base) && !request.url().startsWith('blob:')) outside.push(request.url()); });
  errors.splice(0);
  for (const path of [...PAGES, '/sessions/hostile-1', `/graph/${ids[0]}`, `/search?q=${encodeURIComponent(HOSTILE[1] ?? '')}`, ...ids.map((id) => `/m/${id}`)]) {
    await pictured(page, `hostile ${path}`, async () => {
      await page.goto(daemon.base + path);
      await page.locator('#main h1').waitFor();
      await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'));
      const told = await page.evaluate(() => ({
        hit: /** @type {any} */ (window).hit ?? null, violations: /** @type {any} */ (window).violations,
        bad: [...document.querySelectorAll('#main script, #main iframe, #main object, #main embed, #main img, #main style, #main link, #main base, #main video')].map((node) => node.tagName),
        handlers: [...document.querySelectorAll('#main *')].filter((node) => [...node.attributes].some((attribute) => attribute.name.startsWith('on') || attribute.name === 'style' && node.tagName === 'SCRIPT')).length,
        links: [...document.querySelectorAll('#main a')].map((node) => node.getAttribute('href') ?? '').filter((href) => !/^(?:\/(?![/\\])|https?:\/\/[^/]|mailto:|blob:|#)/.test(href)),
      }));
      assert.deepEqual(told, { hit: null, violations: [], bad: [], handlers: 0, links: [] }, path);
    });
  }
  assert.deepEqual(outside, []);
  assert.deepEqual(errors.splice(0), []);
});

// F5: cookies do not know ports, so a page of another port of this machine is as near as a stranger gets.
test('a page of another port reads nothing and changes nothing, with the cookie of the owner in the browser', async () => {
  const { context, ask } = session;
  const stranger = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>stranger</title>'));
  await new Promise((resolve) => stranger.listen(0, '127.0.0.1', () => resolve(null)));
  const address = stranger.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const page = await context.newPage();
  try {
    await page.goto(`http://127.0.0.1:${port}/`);
    const before_ = await ask('/api/stats');
    const got = await page.evaluate(async (base) => {
      const body = JSON.stringify({ title: 'from a stranger', content: 'x', type: 'fact' });
      /** @type {[string, RequestInit][]} */
      const tries = [
        ['/api/observations?limit=1', {}], ['/api/stats', { credentials: 'include' }], ['/', { credentials: 'include' }],
        ['/api/observations', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body }],
        ['/api/observations', { method: 'POST', credentials: 'include', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body }],
        ['/api/observations/1', { method: 'DELETE', credentials: 'include' }],
        ['/api/budget', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{"kill_switch":true}' }],
      ];
      const read = [];
      for (const [path, init] of tries) read.push(await fetch(base + path, init).then(async (answer) => (answer.type === 'opaque' ? '' : answer.text()), () => ''));
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: `${base}/api/observations`, enctype: 'text/plain', target: 'inside' });
      const [frame, field] = [document.createElement('iframe'), document.createElement('input')];
      frame.name = 'inside';
      Object.assign(field, { name: '{"title":"from a form","content":"', value: '"}' });
      form.append(field);
      document.body.append(frame, form);
      const loaded = new Promise((resolve) => { frame.onload = resolve; });
      form.submit();
      await loaded;
      const events = await new Promise((resolve) => {
        const stream = new EventSource(`${base}/api/events`, { withCredentials: true });
        stream.onopen = () => resolve('open');
        stream.onerror = () => resolve('refused');
      });
      // What is let through without a question: parts of a page, beacons, sockets, a window that is kept hold of.
      navigator.sendBeacon(`${base}/api/observations`, new Blob([body], { type: 'text/plain' }));
      const part = (/** @type {any} */ node, /** @type {any} */ given) => new Promise((resolve) => {
        Object.assign(node, given, { onload: () => resolve('loaded'), onerror: () => resolve('refused') });
        document.head.append(node);
      });
      const parts = await Promise.all([
        part(document.createElement('script'), { src: `${base}/assets/main.js` }),
        part(document.createElement('script'), { src: `${base}/api/export` }),
        part(document.createElement('link'), { rel: 'stylesheet', href: `${base}/assets/main.css` }),
        part(document.createElement('img'), { src: `${base}/api/stats` }),
        part(document.createElement('link'), { rel: 'prefetch', href: `${base}/api/observations/1/archive` }),
      ]);
      const socket = await new Promise((resolve) => {
        const line = new WebSocket(`${base.replace('http', 'ws')}/api/events`);
        line.onopen = () => resolve('open');
        line.onerror = () => resolve('refused');
      });
      const other = window.open(`${base}/`);
      await new Promise((resolve) => { setTimeout(resolve, 1500); });
      const held = { closed: other?.closed ?? true, reach: (() => { try { return other?.document.title ?? ''; } catch { return ''; } })() };
      let inside = '';
      try { inside = frame.contentDocument?.body.innerText ?? ''; } catch { inside = ''; }
      return { read, events, inside, parts, socket, held };
    }, daemon.base);
    assert.deepEqual(got, { read: got.read.map(() => ''), events: 'refused', inside: '', parts: got.parts.map(() => 'refused'), socket: 'refused', held: { closed: true, reach: '' } });
    const after_ = await ask('/api/stats');
    assert.equal(after_.observations, before_.observations);
    assert.equal((await ask('/api/budget?limit=1')).kill_switch, false);
    const list = await ask('/api/observations?limit=20&preview=1');
    assert.ok(!list.some((/** @type {any} */ memory) => memory.title.startsWith('from a')));
  } finally {
    await page.close();
    stranger.close();
  }
});

// F5: a name of a stranger that it lets point here has none of our cookies, and is not answered.
test('a strange name that points at this machine is not answered', async () => {
  const { context } = session;
  const port = new URL(daemon.base).port;
  for (const host of [`rebound.example:${port}`, `localhost.rebound.example:${port}`]) {
    const answer = await context.request.fetch(`${daemon.base}/api/stats`, { headers: { host } });
    assert.equal(answer.status(), 421, host);
  }
});
