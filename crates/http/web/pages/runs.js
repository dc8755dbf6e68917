// Runs of talents: what goes on, what has ended, and the events of one. `/runs/ID` follows a run to its end.

import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { actions, button, h, input, map, pill, quiet, show } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, commandLine, details, empty, fillIn, heading, table, when } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { capital, count, counted, words } from '../lib/text.js';
import { moment, span } from '../lib/time.js';
import { attempt, tell } from '../lib/toast.js';
import { eventCard } from './live.js';

const EVENTS_SHOWN_MAX = 500;

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  if (parts[1]) return one(parts[1], signal);
  const runs = await get('/api/runs', { limit: 100 }, signal);
  const talents = h('div');
  const waiting = h('div');
  void get('/api/approvals', {}, signal).then(({ approvals }) => show(waiting, waitingCard(approvals)), () => {});
  void fillIn(talents, () => shelf(signal), 4);
  const rows = [...runs.live, ...runs.runs].map((run) => [h('a', { href: `/runs/${encodeURIComponent(run.use_id)}`, title: run.use_id }, moment(Number(run.ts ?? run.use_id)).slice(0, 16)), h('b', {}, run.name), state(run),
    typeof run.runtime_seconds === 'number' ? span(run.runtime_seconds * 1000) : '', typeof run.cost === 'number' ? `$${run.cost.toFixed(4)}` : '']);
  return [
    heading('Runs', { sub: `${counted(runs.live.length, 'run')} going on, ${counted(runs.total, 'run')} in all` }),
    waiting, card('Runs', rows.length === 0 ? empty('Nothing has run yet', 'A talent runs on schedule, or when somebody asks for it.', commandLine("cortex talent run default 'What did I decide?'"))
      : table('Runs', ['Began', 'Talent', 'State', 'Took', 'Cost'], rows)),
    card('Talents', talents, { aside: button('small', newTalent, 'New talent') }),
  ];
}

/**
 * Calls of tools that wait for a person: each with what it would be called with.
 * @param {any[]} approvals
 */
function waitingCard(approvals) {
  const open = approvals.filter((each) => each.state === 'pending');
  if (open.length === 0) return null;
  const decide = (/** @type {any} */ each, /** @type {boolean} */ approve) => attempt(async () => {
    await send('POST', `/api/approvals/${encodeURIComponent(each.id)}`, { approve });
    tell(approve ? `${each.tool} is used once, as it was asked for.` : `${each.tool} is not used; the run goes on without it.`);
    reload();
  });
  return card('Waits for you', h('ul', { class: 'changes' }, open.map((each) => h('li', { class: 'finding' }, h('div', {}, h('b', {}, each.talent), ' wants to use ', h('code', {}, each.tool), ' ', when(new Date(each.at).toISOString()),
    h('pre', { tabindex: 0 }, JSON.stringify(each.args, null, 2))), actions(button('primary', () => void decide(each, true), 'Allow once'),
    button('', () => void decide(each, false), 'Refuse'))))), { class: 'warn-card' });
}

/** Asks for a name, and opens the editor. */
function newTalent() {
  const name = input({ id: 'talent-name', required: true, maxlength: 64, pattern: '[a-z][a-z0-9_\\-]*', autocomplete: 'off', placeholder: 'weekly_review' });
  const dialog = openDialog('New talent', h('form', { onsubmit: (event) => {
    event.preventDefault();
    dialog.close();
    go(`/talents/${encodeURIComponent(name.value.trim())}`);
  } }, h('label', { for: 'talent-name' }, 'Its name: small letters, digits, _ and -'), name, actions(h('button', { class: 'button primary', type: 'submit' }, 'Write it'))));
}

/** @param {any} run */
function state(run) {
  const word = run.state ?? run.status ?? (run.position ? 'queued' : 'running');
  return h('span', { class: `pill ${word === 'completed' ? 'good' : word === 'error' ? 'bad' : 'accent'}` }, word);
}

/** @param {AbortSignal} signal */
async function shelf(signal) {
  const answer = await get('/api/talents', {}, signal);
  return [
    answer.problems.length > 0 && h('ul', {}, answer.problems.map((/** @type {string} */ words) => h('li', { class: 'bad-text' }, words))),
    answer.providers.length === 0 && h('p', { class: 'note' }, 'Talents wait: ', answer.talents.find((/** @type {any} */ talent) => talent.no_model)?.no_model ?? 'no provider of models is set up', '.'),
    table('Talents', ['Talent', 'What it does', 'When', 'From', 'Model'], map(answer.talents, (talent) => [h('a', { href: `/talents/${talent.name}` }, h('b', {}, talent.name)), talent.description ?? talent.title, h('span', { class: 'nowrap' }, talent.schedule ?? 'when asked'),
      talent.source, talent.model ?? h('span', { class: 'quiet nowrap', title: talent.no_model ?? '' }, talent.no_model ? 'none yet' : 'none needed')])),
  ];
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function one(id, signal) {
  const [run, before] = await Promise.all([get(`/api/runs/${encodeURIComponent(id)}`, {}, signal), get(`/api/runs/${encodeURIComponent(id)}/events`, { limit: 1000 }, signal)]);
  /** @type {any[]} */
  const events = before;
  const list = h('div', { class: 'events' });
  const told = h('div');
  const draw = () => show(told, story(events));
  const put = (/** @type {any[]} */ fresh) => {
    if (list.querySelector('.empty')) show(list);
    list.append(...fresh.map(eventCard));
    while (list.childElementCount > EVENTS_SHOWN_MAX) list.firstElementChild?.remove();
  };
  if (events.length > 0) put(events.slice(-EVENTS_SHOWN_MAX));
  else show(list, empty('No event yet', 'They appear as they happen.'));
  draw();
  const goesOn = run.state === 'running' || run.state === 'queued';
  if (goesOn) {
    const stream = new EventSource(`/api/events?use_id=${encodeURIComponent(id)}`);
    signal.addEventListener('abort', () => stream.close());
    stream.onmessage = (message) => {
      const event = JSON.parse(message.data);
      put([event]);
      events.push(event);
      draw();
      if (event.event === 'finish' || (event.event === 'error' && event.terminal !== false)) {
        stream.close();
        reload();
      }
    };
  }
  const cancel = () => attempt(async () => {
    await send('DELETE', `/api/runs/${encodeURIComponent(id)}`);
    tell('It was told to end.');
  });
  return [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: '/runs' }, 'Runs and talents'), ' / ', h('span', { title: id }, moment(Number(run.ts ?? id)).slice(0, 16))),
    heading(capital(words(run.name ?? 'Run')), { sub: [state(run), ' ', h('a', { href: `/talents/${run.name}` }, 'Its talent')], actions: goesOn && button('danger', () => void cancel(), 'Cancel') }),
    h('div', { class: 'columns' }, h('div', {}, told, card('Events', list)),
      h('div', {}, card('Details', details(Object.entries(run).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)).map(([key, value]) => [capital(words(key)), shown(key, value)]))))),
  ];
}

/** What a run did, in the order in which somebody reads it. @param {any[]} events */
function story(events) {
  const find = (/** @type {string} */ kind) => events.find((event) => event.event === kind);
  const end = events.findLast((event) => event.event === 'finish' || event.event === 'error');
  const prompt = find('start')?.prompt ?? find('request')?.prompt;
  const ended = new Map(events.filter((event) => event.event === 'tool_end').map((event) => [event.call_id, event]));
  const calls = events.filter((event) => event.event === 'tool_start');
  const writing = end ? '' : events.filter((event) => event.event === 'text_delta').map((event) => event.delta ?? '').join('');
  const paid = events.filter((event) => event.event === 'usage');
  const dollars = paid.reduce((sum, event) => sum + (event.cost ?? 0), 0);
  return [
    prompt && card('Prompt', h('div', { class: 'context-text' }, String(prompt))),
    calls.length > 0 && card('Tools', table('Tools', ['Tool', 'With', 'State', 'Took', 'Gave'], calls.map((call) => {
      const done = ended.get(call.call_id);
      return [h('b', {}, call.tool), h('code', { class: 'wrap' }, JSON.stringify(call.args ?? {})), done ? pill(done.blame ? 'bad' : 'good', done.blame ? 'failed' : 'done') : pill('accent', 'running'),
        done && typeof done.duration_ms === 'number' ? span(done.duration_ms) : '', (done?.cited ?? []).map((/** @type {number} */ memory) => [h('a', { href: `/m/${memory}` }, `#${memory}`), ' '])];
    }))),
    writing && card('Being written', h('div', { class: 'context-text' }, writing)),
    end?.result && card('Result', markdown(String(end.result)), { aside: dollars > 0 && quiet(`$${dollars.toFixed(4)}`) }),
    end?.error && card('What went wrong', h('p', { class: 'bad-text' }, String(end.error))),
  ];
}

/**
 * @param {string} key
 * @param {any} value
 */
function shown(key, value) {
  if (key === 'ts') return moment(value);
  if (key === 'cost') return `$${Number(value).toFixed(4)}`;
  if (key === 'runtime_seconds') return span(value * 1000);
  return typeof value === 'number' && key !== 'use_id' ? count(value) : String(value);
}
