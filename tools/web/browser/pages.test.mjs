// The pages in a real browser, with the memories of a small team.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { openBrowser, pictured, startDaemon } from '../harness.mjs';
import { writeSessions } from '../past_seed.mjs';
import { seed } from '../seed.mjs';

/** @type {Awaited<ReturnType<typeof startDaemon>>} */
let daemon;
/** @type {Awaited<ReturnType<typeof openBrowser>>} */
let session;

before(async () => {
  daemon = await startDaemon();
  session = await openBrowser(daemon);
  const { observations } = await session.ask('/api/stats');
  if (observations === 0) await seed(session.ask);
  await session.ask('/api/bulletin?refresh=true');
});

after(async () => {
  await session?.browser.close();
  await daemon?.stop();
});

/**
 * @param {string} name
 * @param {string} path
 * @param {(page: import('playwright-core').Page) => Promise<void>} work
 */
function onPage(name, path, work) {
  test(name, async () => {
    const { page, errors } = session;
    await pictured(page, name, async () => {
      await page.goto(daemon.base + path);
      await page.locator('#main h1').waitFor();
      await work(page);
      assert.deepEqual(errors.splice(0), []);
      assert.deepEqual(await page.evaluate(() => /** @type {any} */ (window).violations), []);
    });
  });
}

/** @param {string} title */
async function idOf(title) {
  const list = await session.ask('/api/observations?limit=1000&preview=1');
  return list.find((/** @type {any} */ memory) => memory.title.startsWith(title)).id;
}

onPage('W1 home shows the titles of recent memories, growth, health and the bulletin', '/', async (page) => {
  const recent = page.getByRole('region', { name: 'Recent memories' });
  await recent.getByText('No secrets in environment dumps').waitFor();
  await page.getByRole('img', { name: /^Memories over time/ }).waitFor();
  await page.getByRole('region', { name: 'Health' }).getByText('Store').waitFor();
  await page.getByRole('region', { name: 'Bulletin', exact: true }).getByText('Customer data stays in the EU').waitFor();
  await page.getByRole('region', { name: 'Needs attention' }).getByText('Contradictions').waitFor();
  await page.getByRole('region', { name: 'Agents at work' }).getByText('claude-code').waitFor();
});

onPage('W2 live shows a save and who was told, as they happen', '/live', async (page) => {
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByText('Earlier', { exact: true }).waitFor();
  assert.ok(await page.getByText('Nothing has happened yet').isHidden());
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const { id } = await session.ask('/api/observations', { ...post, body: JSON.stringify({ title: 'Seen as it happens', content: 'Live.', type: 'fact', project: 'ops' }) });
  await page.locator('.event.of-saved', { hasText: 'Seen as it happens' }).waitFor();
  await session.ask('/api/search?q=as+it+happens&limit=3');
  await page.locator('.event.of-told', { hasText: 'as it happens' }).getByRole('link', { name: 'Seen as it happens' }).waitFor();
  await page.goto(`${daemon.base}/told`);
  await page.locator('.event', { hasText: 'as it happens' }).first().waitFor();
  await page.goto(`${daemon.base}/m/${id}`);
  await page.getByRole('region', { name: 'Told to' }).getByText('searched').waitFor();
  await session.ask(`/api/observations/${id}`, { method: 'DELETE' });
});

onPage('W2 live goes on after a pause', '/live', async (page) => {
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByLabel('also status events').check();
  await page.locator('.event').first().waitFor({ timeout: 15_000 });
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Go on' }).click();
});

test('W21 ten thousand events at once leave the page answering, with a bounded list', async () => {
  const { page, errors } = session;
  await pictured(page, 'many events', async () => {
    const body = Array.from({ length: 10_000 }, (_, index) => `id: ${index}\ndata: ${JSON.stringify({ tract: 'mind', event: 'worker_status', ts: Date.now(), name: `event ${index}` })}\n\n`).join('');
    await page.route('**/api/events*', (route) => route.fulfill({ status: 200, headers: { 'content-type': 'text/event-stream' }, body }));
    await page.goto(`${daemon.base}/live`);
    await page.getByText('event 9999').first().waitFor();
    assert.ok((await page.locator('.event').count()) <= 300);
    await page.unroute('**/api/events*');
    const started = performance.now();
    await page.getByRole('link', { name: 'Memories', exact: true }).click();
    await page.locator('.slot').first().waitFor();
    assert.ok(performance.now() - started < 5_000);
    assert.deepEqual(errors.splice(0), []);
  });
});

onPage('W3 search answers as it is typed, with how well each fits', '/memories', async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('why is the import slow', { delay: 15 });
  await page.getByText(/hits for “why is the import slow”/).waitFor();
  await page.locator('.slot .row-title', { hasText: 'simd-json' }).waitFor();
  assert.match(await page.locator('.slot .fit').first().innerText(), /strong|likely|weak/);
  assert.equal(new URL(page.url()).pathname, '/search');
  await page.goBack();
  await page.getByRole('heading', { name: 'Memories', level: 1 }).waitFor();
});

onPage('W3 filters are part of the address, and what is put away has its own list', '/memories', async (page) => {
  await page.getByLabel('State').selectOption('archived');
  await page.locator('.slot .row-title', { hasText: 'The office link' }).waitFor();
  assert.match(page.url(), /state=archived/);
  await page.goto(`${daemon.base}/memories?type=goal&sort=oldest`);
  await page.locator('.slot .row-title', { hasText: 'Cut the nightly' }).waitFor();
  assert.match(await page.locator('#main .sub').innerText(), /^3 memories/);
  const all = Number((await session.ask('/api/stats')).observations);
  await page.goto(`${daemon.base}/memories?by=http`);
  await page.locator('.slot .row-title', { hasText: 'No secrets' }).waitFor();
  const by = Number.parseInt(await page.locator('#main .sub').innerText(), 10);
  assert.ok(by > 0 && by < all, `${by} of ${all}`);
  await page.goto(`${daemon.base}/memories?days=1`);
  await page.locator('.slot .row-title', { hasText: 'Cache keys' }).waitFor();
  assert.ok(Number.parseInt(await page.locator('#main .sub').innerText(), 10) < all);
});

onPage('W3 many are put away at once, and brought back by u', '/memories?type=config', async (page) => {
  await page.locator('.slot').first().waitFor();
  const total = await page.locator('.slot').count();
  for (const box of await page.locator('.slot input').all()) await box.check();
  await page.getByRole('toolbar').getByRole('button', { name: 'Archive' }).click();
  await page.getByText('No memory fits these filters.').waitFor();
  await page.keyboard.press('u');
  await page.getByText('Taken back.').waitFor();
  await page.locator('.slot').nth(total - 1).waitFor();
});

onPage('W3 j, k and Enter walk through the list, x selects', '/memories', async (page) => {
  await page.locator('.slot .row').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const title = await page.evaluate(() => document.activeElement?.querySelector('.row-title')?.textContent);
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: title ?? '' }).waitFor();
});

onPage('W3 a memory is written with a preview, and taken back', '/new', async (page) => {
  await page.getByLabel('Title').fill('Written on the page');
  await page.getByLabel('Text').fill('With **bold** and `code`.\n\n- one\n- two');
  await page.locator('.preview strong', { hasText: 'bold' }).waitFor();
  await page.getByLabel('Project', { exact: true }).last().fill('ops');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Written on the page' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
  const list = await session.ask('/api/observations?limit=5&preview=1');
  assert.ok(!list.some((/** @type {any} */ memory) => memory.title === 'Written on the page'));
});

test('W4 an edit on top of somebody else\'s shows both and overwrites neither', async () => {
  const { page, ask } = session;
  await pictured(page, 'conflict', async () => {
    const id = await idOf('Every alert has');
    await page.goto(`${daemon.base}/m/${id}/edit`);
    await page.getByLabel('Text').fill('Mine.');
    await ask(`/api/observations/${id}`, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ content: 'Theirs.' }) });
    await page.getByRole('button', { name: /^Save version/ }).click();
    await page.getByText('Somebody wrote version 2 meanwhile').waitFor();
    await page.locator('.diff-line.removed', { hasText: 'Theirs.' }).waitFor();
    assert.equal((await ask(`/api/observations/${id}?quiet=true`)).content, 'Theirs.');
    await page.getByRole('button', { name: /^Save version/ }).click();
    await page.getByText('Saved as version 3.').waitFor();
    assert.equal((await ask(`/api/observations/${id}?quiet=true`)).content, 'Mine.');
  });
});

test('W4 a memory shows its text, versions, relations and a proof that this browser checked', async () => {
  const { page, errors } = session;
  await pictured(page, 'memory', async () => {
    const id = await idOf('Cache keys carry');
    const { accesses } = await session.ask(`/api/observations/${id}?quiet=true`);
    await page.goto(`${daemon.base}/m/${id}`);
    await page.locator('article .task.done').waitFor();
    await page.getByRole('region', { name: 'Around it' }).getByRole('link').first().waitFor();
    assert.equal((await session.ask(`/api/observations/${id}?quiet=true`)).accesses, accesses, 'looking is not using');
    await page.getByRole('region', { name: 'What changed' }).locator('.diff-line.added', { hasText: 'remove the fallback' }).waitFor();
    await page.getByRole('region', { name: 'Relations' }).getByText('Rate limits are per tenant').waitFor();
    await page.getByRole('region', { name: 'Names' }).getByText('src/cache.rs').waitFor();
    const use = page.getByRole('region', { name: 'Use', exact: true });
    for (const label of ['Shown', 'Opened', 'Cited']) await use.getByText(label, { exact: true }).waitFor();
    await use.getByText('How its worth comes about').click();
    await use.getByLabel('Factor recency').waitFor();
    // The server is not asked for its opinion.
    await page.route('**/api/proofs/verify', (route) => route.abort());
    await page.getByRole('button', { name: 'Check here' }).click();
    await page.getByText('It holds: every hash leads to the root.').waitFor();
    await page.getByRole('button', { name: 'Pin this one' }).click();
    await page.goto(`${daemon.base}/m/${id}@1`);
    await page.getByText('This is version 1.').waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W4 a proof that was altered on its way is refused', async () => {
  const { page } = session;
  await pictured(page, 'altered proof', async () => {
    const id = await idOf('Cache keys carry');
    await page.route('**/proof', async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      const bytes = Buffer.from(json.proof, 'base64');
      bytes[Math.floor(bytes.length / 2)] ^= 1;
      await route.fulfill({ json: { ...json, proof: bytes.toString('base64') } });
    });
    await page.goto(`${daemon.base}/m/${id}`);
    await page.getByRole('button', { name: 'Check here' }).click();
    await page.locator('.problem').waitFor();
    assert.equal(await page.getByText('It holds').count(), 0);
    await page.unroute('**/proof');
  });
});

test('W4 archive, forget and relations are taken back; erasing asks for the title', async () => {
  const { page, ask } = session;
  await pictured(page, 'undo', async () => {
    const id = await idOf('OOM kills do not');
    for (const [name, sign] of [['Archive', 'Archived: agents'], ['Forget', 'No agent sees it.']]) {
      await page.goto(`${daemon.base}/m/${id}`);
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByText(sign ?? '').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('button', { name, exact: true }).waitFor();
    }
    await page.getByRole('button', { name: 'Relate' }).click();
    await page.getByLabel('The memory with the number').fill('1');
    await page.locator('dialog').getByRole('button', { name: 'Relate' }).click();
    await page.getByRole('region', { name: 'Relations' }).getByText('Use Postgres advisory locks').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('It stands alone so far.').waitFor();
    await page.getByRole('button', { name: 'Erase…' }).click();
    const sure = page.getByRole('button', { name: 'Erase for good' });
    assert.ok(await sure.isDisabled());
    await page.locator('#typed').fill('OOM kills do not show in the unit log');
    await sure.click();
    await page.getByText('The text was erased').waitFor();
    assert.ok((await ask(`/api/observations/${id}?include_put_away=true&quiet=true`)).erased);
  });
});

/** @param {import('playwright-core').Page} page */
const shownText = (page) => page.getByRole('region', { name: 'The exact text' }).locator('.context-text').evaluate((node) => node.textContent);

onPage('W5 what a session begins with is the very text of the hook, and changes when a memory is put away', '/context', async (page) => {
  const told = (await session.ask('/api/tellings')).newest;
  const { context, memories } = await session.ask('/api/briefing?agent=claude-code');
  assert.ok(memories.length > 0);
  assert.equal(await shownText(page), context);
  await page.getByText('tokens, estimated').waitFor();
  assert.equal((await session.ask('/api/tellings')).newest, told, 'looking is not telling');
  const row = page.getByRole('region', { name: 'In it' }).locator('.in-context').first();
  const title = await row.locator('.row-title').innerText();
  assert.ok(String(context).replaceAll('`', '').includes(title), title);
  await row.getByRole('button', { name: /^Put away/ }).click();
  await page.getByText(/^Memory \d+ archived\.$/).waitFor();
  await page.waitForFunction((text) => { const now = document.querySelector('.context-text')?.textContent; return now && now !== text; }, context);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
  await page.waitForFunction((text) => document.querySelector('.context-text')?.textContent === text, context);
});

onPage('W5 what did not fit is named', '/', async (page) => {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  for (let number = 1; number <= 9; number += 1) {
    const body = JSON.stringify({ title: `Rule ${number} of the harbour`, content: `Ships of kind ${number} wait outside until the pilot is on board, whatever the captain says.`, type: 'rule', project: 'quay' });
    await session.ask('/api/observations', { ...post, body });
  }
  const { left_out: ids } = await session.ask('/api/briefing?agent=claude-code&project=quay');
  assert.ok(ids.length > 1, 'so many rules do not fit into their share');
  await page.evaluate(() => localStorage.setItem('cortex.project', 'quay'));
  await page.goto(`${daemon.base}/context`);
  await page.getByText(`${ids.length} lines did not fit`).waitFor();
  await page.getByRole('region', { name: 'Did not fit' }).locator('.in-context').nth(ids.length - 1).waitFor();
  await page.evaluate(() => localStorage.removeItem('cortex.project'));
  const ours = await session.ask('/api/observations?project=quay&limit=20');
  await session.ask('/api/observations/bulk', { ...post, body: JSON.stringify({ action: 'forget', ids: ours.map((/** @type {any} */ each) => each.id) }) });
});

onPage('W5 what a prompt and a file bring up, a task needs, and mem_context gives', '/context', async (page) => {
  await page.getByRole('button', { name: 'With a prompt' }).click();
  await page.getByText('Say what it is about').waitFor();
  await page.getByLabel('The prompt').fill('what is the right order for guard, session and handler in requests?');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('The exact text').waitFor();
  const { context } = await session.ask(`/api/briefing?moment=prompt&agent=claude-code&prompt=${encodeURIComponent('what is the right order for guard, session and handler in requests?')}`);
  if (context) assert.equal(await shownText(page), context);
  else await page.getByText('The agent is told nothing').waitFor();
  await page.getByRole('button', { name: 'For a task' }).click();
  await page.getByLabel('The task, in words').fill('make the nightly import faster');
  await page.getByLabel('Budget').selectOption('1000');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('region', { name: 'In it' }).getByRole('link', { name: /nightly import/ }).first().waitFor();
  const bundle = await session.ask('/api/bundle?about=make+the+nightly+import+faster&budget=1000');
  assert.equal(await shownText(page), bundle.text);
  await page.getByRole('button', { name: 'When it asks' }).click();
  const asked = await session.ask('/api/context?max_bytes=16384');
  await page.waitForFunction((text) => document.querySelector('.context-text')?.textContent === text, asked.text);
  await page.getByRole('region', { name: 'Bulletin, as a prompt holds it' }).waitFor();
});

onPage('W6 sessions, and one with what was asked and saved', '/sessions', async (page) => {
  await page.getByRole('link', { name: /claude-code in atlas-api/ }).click();
  await page.getByText('why is the nightly import so slow?').waitFor();
  await page.getByText('Cache keys carry the tenant').first().waitFor();
});

test('W6 what agents left is found, read, asked, and kept as a memory', async () => {
  const { page, errors } = session;
  await pictured(page, 'past', async () => {
    writeSessions(daemon.home);
    await page.goto(`${daemon.base}/past`);
    await page.getByText('2 files of sessions found').waitFor();
    await page.getByRole('button', { name: 'Make it searchable' }).click();
    await page.getByRole('link', { name: /Seat map with the keyboard/ }).waitFor();
    await page.getByLabel('Have we dealt with this before?').fill('which parser did we try for the import');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('link', { name: /Find out why the nightly import is slow/ }).first().click();
    const turn = page.getByRole('article', { name: 'Turn 2' });
    await turn.getByText('3.4 times as fast').waitFor();
    await turn.getByText('6 steps').click();
    await turn.locator('.diff-line.added', { hasText: 'simd_json' }).waitFor();
    await turn.getByText('cannot borrow').waitFor();
    await turn.getByRole('button', { name: 'Keep as a memory' }).click();
    await page.getByText(/^Kept as #\d+/).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Taken back.').waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});

onPage('W7 projects', '/projects', async (page) => {
  await page.getByRole('region', { name: 'ledger' }).getByRole('button', { name: 'Memories' }).click();
  await page.locator('#main .sub', { hasText: 'in ledger' }).waitFor();
  await page.getByLabel('Project', { exact: true }).selectOption('');
});

onPage('W7 two names of one project become one, and two again', '/projects', async (page) => {
  const alike = page.getByRole('region', { name: 'Names that look alike' });
  await alike.getByRole('button', { name: 'Make them one…' }).click();
  await page.getByText(/moves?, and from now on/).waitFor();
  await page.getByRole('button', { name: 'Merge', exact: true }).click();
  await page.getByText(/ is harbor-?web now\.$/).waitFor();
  await alike.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
  await alike.waitFor();
  const { projects } = await session.ask('/api/projects');
  const of = (/** @type {string} */ name) => projects.find((/** @type {any} */ each) => each.name === name);
  assert.deepEqual([of('harborweb').memories, of('harbor-web').aliases, of('harborweb').aliases], [1, [], []]);
});

onPage('W8 the graph begins where most was related', '/graph', async (page) => {
  await page.locator('.graph a').nth(1).waitFor();
  assert.match(page.url(), /\/graph\/\d+$/);
});

test('W8 the graph is the same picture each time', async () => {
  const { page } = session;
  const id = await idOf('Cache keys carry');
  const draw = async () => {
    await page.goto(`${daemon.base}/graph/${id}`);
    await page.locator('.graph a').first().waitFor();
    return page.locator('.graph').evaluate((node) => node.outerHTML);
  };
  assert.equal(await draw(), await draw());
});

onPage('W9 entities', '/entities?about=src/cache.rs', async (page) => {
  await page.getByText('What is known about src/cache.rs').waitFor();
  await page.getByRole('link', { name: 'Cache keys carry the tenant' }).waitFor();
});

onPage('W10 the timeline goes back to what held at a moment', '/timeline', async (page) => {
  const slider = page.getByRole('slider', { name: 'As of' });
  await page.getByText('Cache keys carry the tenant').first().waitFor();
  await slider.focus();
  await slider.evaluate((node) => { /** @type {HTMLInputElement} */ (node).value = '400'; node.dispatchEvent(new Event('input')); node.dispatchEvent(new Event('change')); });
  await page.getByText(/^As it was on/).waitFor();
  assert.match(page.url(), /as_of=/);
  await page.getByText('Use Postgres advisory locks').first().waitFor();
  assert.equal(await page.getByText('Cache keys carry the tenant').count(), 0);
  await page.goBack();
  await page.getByText('Cache keys carry the tenant').first().waitFor();
});

test('W4 a slider over the life of a memory rests on the version that held', async () => {
  const { page } = session;
  await pictured(page, 'as of', async () => {
    const id = await idOf('Cache keys carry');
    await page.goto(`${daemon.base}/m/${id}`);
    const slider = page.getByRole('slider', { name: 'As of' });
    await slider.waitFor();
    await slider.evaluate((node) => { /** @type {HTMLInputElement} */ (node).value = '0'; node.dispatchEvent(new Event('change')); });
    await page.getByText('This is version 1.').waitFor();
    await page.waitForURL(`${daemon.base}/m/${id}@1`);
    await slider.evaluate((node) => { /** @type {HTMLInputElement} */ (node).value = '1000'; node.dispatchEvent(new Event('change')); });
    await page.waitForURL(`${daemon.base}/m/${id}`);
  });
});

onPage('W10 the timeline has days', '/timeline', async (page) => {
  await page.getByRole('heading', { name: /^Today/ }).waitFor();
  await page.getByText('make the seat map work with the keyboard').waitFor();
});

onPage('W10 the journal has every entry, and says which write made an answer appear', '/journal', async (page) => {
  await page.getByRole('region', { name: 'Journal' }).locator('tbody tr').nth(5).waitFor();
  const id = await idOf('Cache keys carry');
  await page.getByText('Which write made this answer appear?').click();
  await page.getByLabel('The question').fill('what do cache keys carry');
  await page.getByLabel('The memory, by its number').fill(String(id));
  await page.getByRole('button', { name: 'Find it' }).click();
  await page.getByText(/It appeared with entry/).waitFor({ timeout: 60_000 });
  await page.getByRole('status').getByRole('link').click();
  await page.getByRole('region', { name: 'What it carries' }).waitFor();
});

onPage('W19 a setting is set, refused when it is wrong, and taken back', '/settings', async (page) => {
  const box = page.getByLabel('memory.dedup_minutes');
  await box.fill('-3');
  await box.blur();
  await page.getByRole('alert').filter({ hasText: 'memory.dedup_minutes' }).waitFor();
  await box.fill('9');
  await box.blur();
  await page.getByText('memory.dedup_minutes is set.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
  const { settings } = await session.ask('/api/settings');
  assert.equal(settings.find((/** @type {any} */ each) => each.key === 'memory.dedup_minutes').origin, 'default');
});

onPage('W3 many get a tag, which is a filter, and lose it again', '/memories?type=config', async (page) => {
  await page.locator('.slot').first().waitFor();
  for (const box of await page.locator('.slot input').all()) await box.check();
  await page.getByLabel('Tag', { exact: true }).last().fill('looked-at');
  await page.getByRole('button', { name: 'Add tag' }).click();
  await page.getByText('memories tagged.').waitFor();
  await page.goto(`${daemon.base}/memories?tag=looked-at`);
  await page.locator('.slot').nth(1).waitFor();
});

onPage('W11 a job says what it would do, and waits when told to', '/mind', async (page) => {
  const job = page.getByRole('region', { name: 'maintenance' });
  await job.getByRole('button', { name: 'What would it do?' }).click();
  await page.getByText('Nothing was changed.').waitFor();
  await page.keyboard.press('Escape');
  await job.getByRole('button', { name: 'Pause' }).click();
  await job.getByText('paused').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await job.getByText('on time').waitFor();
});

test('W11 what is put away next is named, and kept with one click that can be taken back', async () => {
  const { page, ask } = session;
  await pictured(page, 'due', async () => {
    const id = await idOf('Fixed the date thing');
    await page.route('**/api/mind/due', (route) => route.fulfill({ json: { due: [{ id, title: 'Fixed the date thing', project: 'harbor-web', type: 'bugfix', days_left: 3, reason: 'nobody used it' }], more: 0 } }));
    await page.goto(`${daemon.base}/mind`);
    const next = page.getByRole('region', { name: 'Is put away next' });
    await next.getByText('in 3 active days').waitFor();
    await next.getByRole('button', { name: 'Keep' }).click();
    await page.getByText(`Memory ${id} tagged.`).waitFor();
    assert.deepEqual((await ask(`/api/observations/${id}?quiet=true`)).tags, ['kept']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Taken back.').waitFor();
    assert.deepEqual((await ask(`/api/observations/${id}?quiet=true`)).tags, []);
    await page.unroute('**/api/mind/due');
    assert.ok(Array.isArray((await ask('/api/mind/due')).due));
  });
});

test('W12 a call of a tool that waits is allowed or refused by a person', async () => {
  const { page } = session;
  await pictured(page, 'approvals', async () => {
    const waiting = { id: 'a1', run: '1', talent: 'reviewer', tool: 'github.create_issue', args: { title: '<b>Fix</b>' }, at: Date.now(), state: 'pending' };
    await page.route('**/api/approvals', (route) => route.fulfill({ json: { approvals: [waiting] } }));
    /** @type {any[]} */
    const decided = [];
    await page.route('**/api/approvals/a1', (route) => { decided.push(route.request().postDataJSON()); return route.fulfill({ json: { ...waiting, state: 'denied' } }); });
    await page.goto(`${daemon.base}/runs`);
    const card = page.getByRole('region', { name: 'Waits for you' });
    await card.getByText('"<b>Fix</b>"').waitFor();
    await card.getByRole('button', { name: 'Refuse' }).click();
    await page.getByText('github.create_issue is not used').waitFor();
    assert.deepEqual(decided, [{ approve: false }]);
    await page.unroute('**/api/approvals');
    await page.unroute('**/api/approvals/a1');
    assert.deepEqual(await session.ask('/api/approvals'), { approvals: [] });
  });
});

onPage('W13 chat says what it needs, and where questions are answered without it', '/chat', async (page) => {
  await page.getByText('No model is set up').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Ask', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Ask' }).waitFor();
});

onPage('W12 runs and talents', '/runs', async (page) => {
  await page.getByRole('cell', { name: 'daily_brief' }).waitFor();
});

onPage('W14 the switch stops all models, and is taken back', '/budget', async (page) => {
  await page.getByRole('button', { name: 'Stop all models' }).click();
  await page.getByText('The kill switch is thrown').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Stop all models' }).waitFor();
});

onPage('W15 the audit has remedies, which are taken back', '/audit', async (page) => {
  await page.getByText('Contradictions').waitFor();
  await page.getByRole('button', { name: 'This is right' }).first().click();
  await page.getByText(/is superseded\.$/).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
});

onPage('W16 the search lab shows what each arm said', '/lab?q=import+slow', async (page) => {
  await page.getByRole('columnheader', { name: 'meaning' }).waitFor();
  await page.getByLabel('Type of b').fill('goal');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('region', { name: 'Setting B' }).getByText('Cut the nightly import').waitFor();
});

onPage('W16 a question keeps its right answer, and all of them are asked again', '/lab?q=what+do+cache+keys+carry', async (page) => {
  await page.getByRole('button', { name: 'Cache keys carry the tenant is right' }).click();
  const known = page.getByRole('region', { name: 'Known answers' }).first();
  await known.getByRole('button', { name: 'Ask 1 question again' }).click();
  await known.getByText('1 of 1 stand first').waitFor();
  await page.getByRole('button', { name: 'Cache keys carry the tenant is right', pressed: true }).click();
  await known.waitFor({ state: 'detached' });
});

test('every other change of a memory, of what agents see and of pages is taken back where it was made', async () => {
  const { page, ask, errors } = session;
  const undo = async () => {
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByText('Taken back.').waitFor();
    await page.locator('.toast').getByRole('button', { name: 'Dismiss' }).first().click();
    await page.getByText('Taken back.').waitFor({ state: 'detached' });
  };
  await pictured(page, 'changes', async () => {
    const id = await idOf('Cache keys carry');
    const read = () => ask(`/api/observations/${id}?quiet=true`);
    const before_ = await read();
    await page.goto(`${daemon.base}/m/${id}/edit`);
    await page.getByLabel('Text').fill('Something else.');
    await page.getByLabel('Tags').fill('other');
    await page.getByRole('button', { name: /^Save version/ }).click();
    await page.getByText(/^Saved as version/).waitFor();
    await undo();
    const { content, tags } = await read();
    assert.deepEqual([content, tags], [before_.content, before_.tags]);
    await page.goto(`${daemon.base}/m/${id}`);
    await page.getByRole('radio', { name: 'Version 1 ' }).check();
    await page.getByRole('button', { name: 'Make version 1 the newest again' }).click();
    await page.getByText(/says what version 1 said/).waitFor();
    await undo();
    assert.equal((await read()).content, before_.content);
    const relations = page.getByRole('region', { name: 'Relations' });
    const many = await relations.locator('li').count();
    await relations.locator('li').first().getByRole('button').click();
    await page.waitForFunction((number) => document.querySelectorAll('.relations li').length === number - 1, many);
    await undo();
    await page.waitForFunction((number) => document.querySelectorAll('.relations li').length === number, many);
    await page.goto(`${daemon.base}/context?when=asks`);
    await page.getByRole('button', { name: /^Pin Cache keys/ }).click();
    await page.getByText(`Memory ${id} pinned.`).waitFor();
    await undo();
    await page.getByRole('button', { name: /^Put away Cache keys/ }).click();
    await page.getByText(`Memory ${id} archived.`).waitFor();
    await undo();
    const after_ = await read();
    assert.deepEqual([after_.pinned, after_.archived], [false, false]);
    await page.goto(`${daemon.base}/mind`);
    await page.getByLabel('Name').fill('cache');
    await page.getByRole('textbox', { name: 'Question' }).fill('What do we know about the cache?');
    await page.getByRole('button', { name: 'Add page' }).click();
    await page.getByText('cache is kept current from now on.').waitFor();
    await undo();
    assert.deepEqual((await ask('/api/pages')).pages, []);
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W1 an agent is connected on the page, with what changes shown first, and disconnected by undoing', async () => {
  const { page, errors } = session;
  await pictured(page, 'connect', async () => {
    const folder = join(daemon.home, '.cursor');
    const settings = join(folder, 'mcp.json');
    const before_ = '{\n  "mcpServers": {}\n}\n';
    // What the agent itself left says that it is here.
    mkdirSync(join(folder, 'extensions'), { recursive: true });
    writeFileSync(settings, before_);
    await page.goto(`${daemon.base}/access`);
    const row = page.getByRole('region', { name: 'Agents on this machine' }).getByRole('listitem').filter({ hasText: 'Cursor' });
    await row.getByRole('button', { name: 'Connect…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Connect Cursor' });
    await dialog.locator('.diff-line.added', { hasText: '"--tools=core"' }).waitFor();
    assert.equal(readFileSync(settings, 'utf8'), before_, 'looking changes nothing');
    await dialog.getByRole('button', { name: 'Connect Cursor' }).click();
    await dialog.getByText('Connected: 8 tools answered').waitFor({ timeout: 60_000 });
    await dialog.getByRole('button', { name: 'Done' }).click();
    await row.getByText('connected', { exact: true }).waitFor();
    assert.match(readFileSync(settings, 'utf8'), /"cortex"/);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Taken back.').waitFor();
    await row.getByRole('button', { name: 'Connect…' }).waitFor();
    assert.equal(readFileSync(settings, 'utf8'), before_);
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W17 somebody is let in, sees only its part, and is let out by undoing', async () => {
  const { page, errors } = session;
  await pictured(page, 'access', async () => {
    await page.goto(`${daemon.base}/access`);
    await page.getByText('Nobody else is let in').waitFor();
    await page.getByRole('button', { name: 'Let somebody in' }).click();
    await page.getByLabel('Who').fill('auditor');
    await page.getByLabel('May find and read').selectOption('ledger');
    await page.getByRole('button', { name: 'Let in', exact: true }).click();
    const token = await page.getByRole('dialog', { name: 'The token, shown once' }).locator('.command code').innerText();
    const seen = await session.browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${token}` } });
    const other = await seen.newPage();
    await other.goto(`${daemon.base}/memories`);
    await other.locator('.slot .row-title', { hasText: 'Export wrote a comma' }).waitFor();
    // What is private is the owner's, in this project too.
    assert.equal(await other.getByText('Amounts are integers').count(), 0);
    const titles = await other.locator('.slot .row-meta').allInnerTexts();
    assert.ok(titles.length > 0 && titles.every((meta) => meta.includes('ledger')), titles.join());
    await other.goto(`${daemon.base}/search?q=login+password`);
    await other.locator('#main h1').waitFor();
    assert.equal(await other.getByText('Login failed on an empty password').count(), 0);
    await other.goto(`${daemon.base}/m/${await idOf('Login failed')}`);
    await other.locator('.problem').waitFor();
    await other.goto(`${daemon.base}/settings`);
    await other.locator('.problem').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('u');
    await page.getByText('Taken back.').waitFor();
    await other.reload();
    await other.goto(`${daemon.base}/memories`).catch(() => {});
    assert.equal(await other.getByText('Export wrote a comma').count(), 0);
    await seen.close();
    assert.deepEqual(errors.splice(0), []);
  });
});

onPage('W18 an import says what it would bring, brings it, and is taken back', '/transfer', async (page) => {
  const before_ = (await session.ask('/api/stats')).entries;
  const lines = [{ record: 'header', cortex_export: 1, actor: 'default', store: 'other', exported_at: '2026-01-01T00:00:00Z', all: true },
    { record: 'memory', id: 1, type: 'Fact', kind: 'fact', project: 'ops', scope: 'project', visibility: 'private', pinned: false, archived: false, forgotten: null, tags: [], topic_key: null, session: null, channel: null, importance: 0.5, duplicates: 0,
      created: '2026-01-01T00:00:00Z', updated: '2026-01-01T00:00:00Z', revised: '2026-01-01T00:00:00Z', accesses: 0, last_access: null, citations: 0, version: 1,
      versions: [{ version: 1, title: 'From elsewhere', content: 'Text.', fields: {}, by: 'somebody', created: '2026-01-01T00:00:00Z', confidence: 1, source: 'user', derived_from: [] }] },
    { record: 'end', memories: 1, edges: 0, sessions: 0, prompts: 0 }];
  await page.locator('#file').setInputFiles({ name: 'other.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n') + '\n') });
  await page.getByText('1 memory would be new, 0 changed, 0 are here already.').waitFor();
  assert.equal((await session.ask('/api/stats')).entries, before_);
  await page.getByRole('button', { name: 'Bring it in' }).click();
  await page.getByText('1 memory is new, 0 changed').waitFor();
  const id = await idOf('From elsewhere');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Taken back.').waitFor();
  assert.ok((await session.ask(`/api/observations/${id}?include_put_away=true&quiet=true`)).deleted_at);
});

onPage('W18 a backup is made into a folder that is named', '/transfer', async (page) => {
  const card = page.getByRole('region', { name: 'Backup', exact: true }).first();
  await page.getByLabel('Folder').fill(`${daemon.home}/copy`);
  await page.getByRole('button', { name: 'Back up now' }).click();
  await card.getByText(`Backed up to ${daemon.home}/copy.`).waitFor({ timeout: 60_000 });
  await card.getByRole('cell', { name: 'default', exact: true }).waitFor();
  await page.getByLabel('Folder').fill('copy');
  await page.getByRole('button', { name: 'Back up now' }).click();
  await card.getByRole('alert').getByText(/absolute path/).waitFor();
});

onPage('W19 the log has what the daemon wrote since it began', '/log', async (page) => {
  await page.locator('.event').first().waitFor();
  await page.getByLabel('Level').selectOption('ERROR');
  await page.getByText('Nothing of this kind').waitFor();
});

onPage('W19 the API is rendered from its document, and can be tried', '/docs', async (page) => {
  await page.getByText('GET', { exact: true }).first().waitFor();
  await page.locator('summary', { hasText: '/api/stats' }).click();
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.locator('pre', { hasText: '"observations"' }).waitFor();
});

onPage('questions are answered by rules', '/ask', async (page) => {
  await page.getByRole('button', { name: 'what is running' }).click();
  await page.locator('.said > div').nth(1).waitFor();
});

onPage('an address of no page says so, and the keys are listed by ?', '/', async (page) => {
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.evaluate(() => { history.pushState(null, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate')); });
  await page.getByText('There is no page at /nowhere.').waitFor();
});

test('a daemon that is gone is named, and the page goes on when it is back', async () => {
  const { page, errors } = session;
  await pictured(page, 'gone', async () => {
    await page.goto(`${daemon.base}/memories`);
    await page.locator('.slot').first().waitFor();
    await page.route('**/*', (route) => route.abort());
    await page.getByRole('link', { name: 'Projects', exact: true }).click();
    await page.getByText('Cortex does not answer.').waitFor();
    await page.getByText('not reachable').waitFor();
    await page.unroute('**/*');
    await page.getByRole('link', { name: 'Memories', exact: true }).click();
    await page.locator('.slot').first().waitFor();
    await page.getByText(/^Cortex \d/).waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});

test('who is not let in is told how to open the page', async () => {
  const { page } = session;
  await page.route('**/api/**', (route) => route.fulfill({ status: 401, json: { status: 401, code: 'token_refused', detail: 'a token is needed' } }));
  await page.goto(`${daemon.base}/memories`);
  await page.getByText('cortex open', { exact: true }).waitFor();
  await page.unroute('**/api/**');
});
