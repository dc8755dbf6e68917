// Home: what is new, how it grows, whether all is well, and what to do first when there is nothing yet.

import { get, getPage } from '../lib/api.js';
import { button, h, icon, map, pill, quiet, quietLine, show } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, empty, fillIn, heading, memoryRow, when } from '../lib/parts.js';
import { growthPlot } from '../lib/plot.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { bytes, capital, count, counted, problemName, readiness } from '../lib/text.js';
import { who } from '../lib/feed.js';

const RECENT = 6;
const DAYS = 35;
const KINDS = 3;
/** Parts of the daemon, as people know them. @type {{[name: string]: string}} */
const SERVICES = { schedule: 'Scheduled work', triggers: 'Work on events' };
/** An audit compares memories with each other, so a large memory is looked at only when somebody asks. */
const AUDITED_MAX = 2_000;

/** @param {Visit} visit */
export async function open({ signal }) {
  const [stats, recent] = await Promise.all([
    get('/api/stats', {}, signal).catch((error) => {
      // Who sees only a part has no figures of the whole, but a list.
      if (error.status === 403) go('/memories', { replace: true });
      throw error;
    }),
    getPage('/api/observations', { project: project(), limit: RECENT, preview: 200 }, signal),
  ]);
  if (stats.observations + stats.archived + stats.forgotten === 0) return (await import('./set_up.js')).setUp();
  const tiles = tileRow(recent.total, signal);
  const today = h('div');
  const plot = h('div');
  const bulletin = h('div');
  const health = h('div');
  const attention = h('div');
  const agents = h('div');
  void fillGrowth(plot, today, tiles, signal);
  void fillIn(bulletin, () => bulletinText(signal), 6);
  void fillIn(health, () => healthRows(stats, signal), 4);
  const look = () => void fillIn(attention, () => attentionRows(signal), 2);
  if (stats.observations <= AUDITED_MAX) look();
  else show(attention, quietLine(`Looking at ${counted(stats.observations, 'memory', 'memories')} takes a while. `, button('link', look, 'Look now')));
  void fillIn(agents, () => agentRows(signal), 2);
  return [
    heading('Home', { sub: project() ? `What is known in ${project()}.` : 'What your agents know, and what they did with it.' }),
    tiles,
    h('div', { class: 'columns' },
      h('div', {},
        card('Recent memories', recent.data.length > 0
          ? h('ul', { class: 'rows' }, recent.data.map((/** @type {Memory} */ memory) => h('li', {}, memoryRow(memory))))
          : empty('Nothing here yet', `No memory belongs to ${project()}.`),
        { aside: h('a', { class: 'more', href: '/memories' }, 'All memories') }),
        card('Growth', plot, { aside: quiet(`last ${DAYS} days`) }),
        card('Today', today)),
      h('div', {},
        card('Health', health),
        card('Needs attention', attention, { aside: h('a', { class: 'more', href: '/audit' }, 'Audit') }),
        card('Agents at work', agents, { aside: h('a', { class: 'more', href: '/sessions' }, 'Sessions') }),
        card('Bulletin', bulletin, { aside: h('a', { class: 'more', href: '/context' }, 'What agents see') }))),
  ];
}

/**
 * The plot and what happened today come from the same request.
 * @param {HTMLElement} plot
 * @param {HTMLElement} today
 * @param {HTMLElement} tiles
 * @param {AbortSignal} signal
 */
async function fillGrowth(plot, today, tiles, signal) {
  const asked = get('/api/counts', { project: project(), days: DAYS, offset_minutes: -new Date().getTimezoneOffset() }, signal);
  void fillIn(plot, async () => {
    const { days, before } = await asked;
    let total = before;
    return growthPlot(map(days, (each) => ({ day: each.day, added: each.saved, total: total += each.saved })));
  }, 4);
  void fillIn(today, async () => {
    const { last_day: groups } = await asked;
    const saved = groups.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.saved, 0);
    fillTile(tiles, 'memories', null, saved > 0 ? `${count(saved)} new today` : 'none new today');
    return todayRows(groups);
  }, 2);
}

/**
 * Four figures that say how things stand; those that have to be asked for come a moment later.
 * @param {number} total
 * @param {AbortSignal} signal
 */
function tileRow(total, signal) {
  const tile = (/** @type {string} */ name, /** @type {string} */ words, /** @type {string} */ href, /** @type {string} */ value) => h('a', { class: 'tile', href, 'data-tile': name },
    quiet(words), h('span', { class: 'big' }, value), h('span', { class: 'quiet note' }, '\u00a0'));
  const row = h('div', { class: 'tiles' }, tile('memories', 'Memories', '/memories', count(total)), tile('told', 'Told to agents', '/told', '…'),
    tile('agents', 'Agents at work', '/sessions', '…'), tile('spent', 'Spent today', '/budget', '…'));
  void get('/api/tellings', { limit: 1 }, signal).then(({ newest, tellings }) => fillTile(row, 'told', count(newest), tellings[0] ? ['times, last ', when(tellings[0].at)] : 'times since it was started'), () => {});
  void getPage('/api/sessions', { live: true, limit: 1 }, signal).then((sessions) => fillTile(row, 'agents', count(sessions.total), sessions.data[0] ? sessions.data[0].agent || sessions.data[0].id : 'none right now'), () => {});
  void get('/api/budget', { limit: 1 }, signal).then((budget) => fillTile(row, 'spent', `$${budget.dollars.toFixed(2)}`, budget.kill_switch ? 'models are switched off' : budget.provider ? counted(budget.tokens, 'token') : 'no model is needed'), () => {});
  return row;
}

/**
 * @param {HTMLElement} row
 * @param {string} name
 * @param {Child} value
 * @param {Child} note
 */
function fillTile(row, name, value, note) {
  const tile = row.querySelector(`[data-tile=${name}]`);
  const [big, small] = [tile?.querySelector('.big'), tile?.querySelector('.note')];
  if (big && value !== null) show(big, value);
  if (small) show(small, note);
}

/** @param {any[]} groups */
function todayRows(groups) {
  if (groups.length === 0) return empty('A quiet day so far', 'Nothing was saved today.');
  return h('ul', { class: 'today' }, groups.slice(0, 10).map((group) => h('li', {},
    h('span', {}, h('b', {}, who(group.by)), ` saved ${count(group.saved)} in `, h('b', {}, group.project || 'no project')),
    quiet(kinds(group.by_kind)))));
}

/** The most frequent kinds, and how many others there are. @param {{[kind: string]: number}} by */
function kinds(by) {
  const all = Object.entries(by).sort((a, b) => b[1] - a[1]);
  const more = all.length - KINDS;
  return all.slice(0, KINDS).map(([kind, number]) => `${count(number)} ${kind}`).join(', ') + (more > 0 ? ` and ${counted(more, 'other kind')}` : '');
}

/** @param {AbortSignal} signal */
async function bulletinText(signal) {
  const { bulletin } = await get('/api/bulletin', { project: project() }, signal);
  if (!bulletin) return empty('No bulletin yet', 'It is written a moment after the first memory.');
  const text = bulletin.text.replace(/^# .*\nGenerated:.*\n/, '');
  return [h('div', { class: 'bulletin', tabindex: 0, role: 'region', 'aria-label': 'Bulletin text' }, markdown(text)),
    h('p', { class: 'quiet foot' }, `${count(bulletin.words)} words, written ${bulletin.made_by === 'rules' ? 'by rules' : `with ${bulletin.made_by}`} `, when(bulletin.generated_at))];
}

/**
 * @param {any} stats
 * @param {AbortSignal} signal
 */
async function healthRows(stats, signal) {
  const ready = await get('/readyz', {}, signal);
  /** @type {[string, string, Child, string?][]} */
  const rows = [
    ['good', 'Store', `${bytes(stats.file_bytes)}, last written `, stats.last_entry_at],
    ['good', 'Journal', h('a', { href: '/journal' }, counted(stats.entries, 'entry', 'entries'))],
    [ready.warmup.state === 'warm' ? 'good' : 'warn', 'Mind', ready.warmup.last_error || readiness(ready.warmup.state)],
  ];
  for (const [name, state] of Object.entries(ready.services)) rows.push([state === 'running' ? 'good' : 'bad', SERVICES[name] ?? capital(name), String(state)]);
  return h('ul', { class: 'health' }, rows.map(([state, name, words, at]) => h('li', {},
    h('span', { class: `dot ${state}`, role: 'img', 'aria-label': state === 'good' ? 'well' : 'look here' }), h('b', {}, name),
    quiet(words, at && when(at)))),
  rows.some(([state]) => state === 'bad') && h('li', {}, quiet(h('code', {}, 'cortex doctor'), ' says what to do.')));
}

/** @param {AbortSignal} signal */
async function attentionRows(signal) {
  const audit = await get('/api/audit', { project: project(), limit: 1 }, signal);
  if (audit.findings.length === 0) {
    return h('p', { class: 'fine' }, icon('check'), ` ${counted(audit.memories, 'memory', 'memories')} looked at, all is well.`);
  }
  return h('ul', { class: 'health' }, audit.findings.slice(0, 6).map((/** @type {any} */ finding) => h('li', {},
    pill('warn', count(finding.count)), h('a', { class: 'grow', href: `/audit#${finding.problem}` }, problemName(finding.problem)))));
}

/** @param {AbortSignal} signal */
async function agentRows(signal) {
  const sessions = await get('/api/sessions', { live: true, limit: 6, project: project() }, signal);
  if (sessions.length === 0) return empty('No agent is at work', 'A session appears here while it lasts.');
  return h('ul', { class: 'health' }, map(sessions, (session) => h('li', {},
    h('span', { class: 'dot good' }), h('a', { href: `/sessions/${encodeURIComponent(session.id)}` }, session.agent || session.id),
    quiet(`${session.project || 'no project'}, ${counted(session.memories, 'memory', 'memories')}`))));
}
