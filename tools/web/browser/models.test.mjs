// Pages that show what models do, with a model that answers by rules: runs, talents, chat, budget.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openBrowser, pictured, startDaemon } from '../harness.mjs';
import { settingsOf, startModel } from '../model.mjs';

/** @type {Awaited<ReturnType<typeof startModel>>} */
let model;
/** @type {Awaited<ReturnType<typeof startDaemon>>} */
let daemon;
/** @type {Awaited<ReturnType<typeof openBrowser>>} */
let session;
/** Lets an answer that waits in the middle go on. */
let goOn = () => {};

const JSON_BODY = { method: 'POST', headers: { 'content-type': 'application/json' } };

before(async () => {
  model = await startModel((request) => {
    const last = request.messages.at(-1);
    const text = JSON.stringify(last.content ?? '');
    if (last.role === 'tool') return { text: 'You chose redb [#1].' };
    if (text.includes('decide about the store')) return { tool: 'memory_recall', args: { query: 'store' } };
    if (text.includes('slowly')) return { text: 'One moment please', hold: new Promise((resolve) => { goOn = () => resolve(); }) };
    return { text: 'Understood, as memory [#1] says.' };
  });
  daemon = await startDaemon(settingsOf(model.url));
  session = await openBrowser(daemon);
  await session.ask('/api/observations', { ...JSON_BODY, body: JSON.stringify({ title: 'Use redb for the store', content: 'One file per actor.', type: 'decision', project: 'demo' }) });
});

after(async () => {
  goOn();
  await session?.browser.close();
  await daemon?.stop();
  await model?.close();
});

test('W12 a run shows what it was asked, which tools it used and for how long, what it said and what it cost', async () => {
  const { page, ask, errors } = session;
  await pictured(page, 'run', async () => {
    const { use_id: id } = await ask('/api/runs', { ...JSON_BODY, body: JSON.stringify({ name: 'default', prompt: 'What did I decide about the store?' }) });
    await page.goto(`${daemon.base}/runs/${id}`);
    await page.getByRole('region', { name: 'Result' }).getByText('You chose redb').waitFor({ timeout: 30_000 });
    await page.getByRole('region', { name: 'Prompt' }).getByText('What did I decide about the store?').waitFor();
    await page.getByRole('region', { name: 'Tools' }).getByRole('cell', { name: 'memory_recall' }).waitFor();
    await page.getByRole('region', { name: 'Result' }).getByRole('link', { name: '#1' }).click();
    await page.getByRole('heading', { level: 1, name: 'Use redb for the store' }).waitFor();
    await page.goto(`${daemon.base}/runs`);
    await page.getByRole('row', { name: /default.*completed/ }).waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W12 a run that goes on is followed as it happens, and ends when it is cancelled', async () => {
  const { page, ask, errors } = session;
  await pictured(page, 'cancel', async () => {
    const { use_id: id } = await ask('/api/runs', { ...JSON_BODY, body: JSON.stringify({ name: 'default', prompt: 'Answer slowly.' }) });
    await page.goto(`${daemon.base}/runs/${id}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('It was told to end.').waitFor();
    await page.getByRole('region', { name: 'What went wrong' }).waitFor({ timeout: 30_000 });
    goOn();
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W12 a talent is edited with a check, and the change is taken back', async () => {
  const { page, ask, errors } = session;
  await pictured(page, 'talent', async () => {
    await page.goto(`${daemon.base}/runs`);
    await page.getByRole('region', { name: 'Talents' }).first().getByRole('link', { name: 'default' }).click();
    const box = page.getByLabel('Text');
    const text = await box.inputValue();
    await box.fill('{\n  "tier": 99\n}\nBe brief.');
    await page.getByText('line 2').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^Not saved: 1 thing is wrong/).waitFor();
    assert.equal((await ask('/api/talents/default')).source, 'system');
    await box.fill('Be brief.');
    await page.getByText('Nothing is wrong with it.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('default is saved.').waitFor();
    assert.equal((await ask('/api/talents/default')).text, 'Be brief.');
    // Somebody else writes it meanwhile: both are shown, and neither is lost.
    await page.getByText('A file of this home').waitFor();
    await page.getByLabel('Text').fill('Be very brief.');
    await ask('/api/talents/default', { ...JSON_BODY, method: 'PUT', body: JSON.stringify({ text: 'Be kind.', before: 'Be brief.' }) });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody changed it meanwhile').waitFor();
    await page.locator('.diff-line.removed', { hasText: 'Be kind.' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('default is saved.').last().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByText('Taken back.').waitFor();
    assert.equal((await ask('/api/talents/default')).text, 'Be kind.');
    await page.getByRole('button', { name: 'Back to the one in the program' }).click();
    await page.getByText('The default of the program holds again.').waitFor();
    await page.getByText('It is in the program.').waitFor();
    assert.equal(await page.getByLabel('Text').inputValue(), text);
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W12 a new talent is written, and taken back', async () => {
  const { page, ask, errors } = session;
  await pictured(page, 'new talent', async () => {
    await page.goto(`${daemon.base}/runs`);
    await page.getByRole('button', { name: 'New talent' }).click();
    await page.getByLabel(/^Its name/).fill('weekly_review');
    await page.getByRole('button', { name: 'Write it' }).click();
    await page.getByText('There is no talent of this name yet.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('weekly_review is saved.').waitFor();
    assert.equal((await ask('/api/talents/weekly_review')).source, 'user');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Taken back.').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    const { talents } = await ask('/api/talents');
    assert.ok(!talents.some((/** @type {any} */ talent) => talent.name === 'weekly_review'));
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W13 an answer is shown while it is written, and its citations open the memory', async () => {
  const { page, errors } = session;
  await pictured(page, 'chat', async () => {
    await page.goto(`${daemon.base}/chat/main`);
    const log = page.getByRole('log', { name: 'Conversation' });
    await page.getByLabel('Message to main').fill('Answer slowly, please.');
    await page.getByRole('button', { name: 'Send' }).click();
    await log.getByText('One', { exact: true }).waitFor({ timeout: 30_000 });
    goOn();
    await log.getByText('One moment please').waitFor({ timeout: 30_000 });
    await page.getByLabel('Message to main').fill('And the store?');
    await page.getByRole('button', { name: 'Send' }).click();
    await log.getByRole('link', { name: '#1' }).first().click({ timeout: 30_000 });
    await page.getByRole('heading', { level: 1, name: 'Use redb for the store' }).waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});

test('W14 what models cost is drawn by day and purpose, and listed', async () => {
  const { page, ask, errors } = session;
  await pictured(page, 'budget', async () => {
    const { days } = await ask('/api/budget?days=30');
    assert.equal(days.length, 1);
    assert.ok(days[0].purposes.chat.tokens > 0 && days[0].purposes.talents.tokens > 0, JSON.stringify(days));
    await page.goto(`${daemon.base}/budget`);
    await page.getByRole('img', { name: /^Spent by day and purpose\. [\d,]+ tokens and \$/ }).waitFor();
    assert.ok(await page.locator('.plot rect').count() >= 2);
    await page.getByRole('region', { name: 'What was spent' }).getByRole('cell', { name: 'main-turn-1' }).waitFor();
    assert.deepEqual(errors.splice(0), []);
  });
});
