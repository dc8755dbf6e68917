// Home: what is new, how it grows, whether all is well, and what to do first when there is nothing yet.

import { get, getPage } from '../lib/api.js';
import { h, icon, show } from '../lib/dom.js';
import { growth } from '../lib/growth.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, empty, fillIn, heading, memoryRow, when } from '../lib/parts.js';
import { growthPlot } from '../lib/plot.js';
import { project } from '../lib/state.js';
import { bytes, count, counted, shortRoot } from '../lib/text.js';
import { dayKey, lastDays } from '../lib/time.js';
import { setUp } from './set_up.js';

/** @typedef {import('../lib/shapes.js').Memory} Memory */

const RECENT = 8;
const NEWEST_MAX = 1_000;
const DAYS = 35;
/** A plot of fewer days says nothing. */
const DAYS_MIN = 3;
/** An audit compares memories with each other, so a large memory is looked at only when somebody asks. */
const AUDITED_MAX = 2_000;

/** @param {import('../lib/router.js').Visit} visit */
export async function open({ signal }) {
  const [stats, recent] = await Promise.all([
    get('/api/stats', {}, signal),
    getPage('/api/observations', { project: project(), limit: RECENT, preview: 200 }, signal),
  ]);
  if (stats.observations + stats.archived + stats.forgotten === 0) return setUp();
  const today = h('div');
  const plot = h('div');
  const bulletin = h('div');
  const health = h('div');
  const attention = h('div');
  const agents = h('div');
  void fillGrowth(plot, today, recent.total, signal);
  void fillIn(bulletin, () => bulletinText(signal), 6);
  void fillIn(health, () => healthRows(stats, signal), 4);
  const look = () => void fillIn(attention, () => attentionRows(signal), 2);
  if (stats.observations <= AUDITED_MAX) look();
  else show(attention, h('p', { class: 'quiet' }, `Looking at ${counted(stats.observations, 'memory', 'memories')} takes a while. `, h('button', { class: 'link', type: 'button', onclick: look }, 'Look now')));
  void fillIn(agents, () => agentRows(signal), 2);
  return [
    heading('Home', {
      sub: [`${counted(recent.total, 'memory', 'memories')}${project() ? ` in ${project()}` : ''}, journal of ${counted(stats.entries, 'entry', 'entries')}, root `,
        h('code', { title: stats.root }, shortRoot(stats.root))],
    }),
    h('div', { class: 'columns' },
      h('div', {},
        card('Recent memories', recent.data.length > 0
          ? h('ul', { class: 'rows' }, recent.data.map((/** @type {Memory} */ memory) => h('li', {}, memoryRow(memory))))
          : empty('Nothing here yet', `No memory belongs to ${project()}.`),
        { aside: h('a', { class: 'more', href: '/memories' }, 'All memories') }),
        card('Growth', plot, { aside: h('span', { class: 'quiet' }, `last ${DAYS} days`) }),
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
 * @param {number} total
 * @param {AbortSignal} signal
 */
async function fillGrowth(plot, today, total, signal) {
  const asked = get('/api/observations', { project: project(), limit: NEWEST_MAX, preview: 1 }, signal);
  void fillIn(plot, async () => {
    /** @type {Memory[]} */
    const newest = await asked;
    const rows = growth(newest.map((memory) => memory.created_at), total, lastDays(DAYS, Date.now()));
    // Days before the oldest one known would be guesses.
    const oldest = newest.length < total ? dayKey(newest.at(-1)?.created_at ?? 0) : '';
    const known = rows.filter((row) => row.day > oldest);
    if (known.length < DAYS_MIN) return h('p', { class: 'quiet' }, `The newest ${counted(newest.length, 'memory', 'memories')} were all saved since `, when(newest.at(-1)?.created_at), ': too many in a short time for a plot.');
    return growthPlot(known);
  }, 4);
  void fillIn(today, async () => todayRows(await asked), 2);
}

/** @param {Memory[]} newest */
function todayRows(newest) {
  const key = dayKey(Date.now());
  const made = newest.filter((memory) => dayKey(memory.created_at) === key);
  if (made.length === 0) return empty('A quiet day so far', 'Nothing was saved today.');
  /** @type {Map<string, {by: string, project: string, types: Map<string, number>, total: number}>} */
  const groups = new Map();
  for (const memory of made) {
    const name = `${memory.by} ${memory.project}`;
    const group = groups.get(name) ?? { by: memory.by, project: memory.project, types: new Map(), total: 0 };
    group.types.set(memory.type, (group.types.get(memory.type) ?? 0) + 1);
    group.total += 1;
    groups.set(name, group);
  }
  return h('ul', { class: 'today' }, [...groups.values()].sort((a, b) => b.total - a.total).slice(0, 10).map((group) => h('li', {},
    h('strong', {}, count(group.total)), h('span', {}, h('b', {}, group.by || 'somebody'), ' saved in ', h('b', {}, group.project || 'no project')),
    h('span', { class: 'quiet' }, [...group.types].map(([type, number]) => `${number} ${type}`).join(', ')))));
}

/** @param {AbortSignal} signal */
async function bulletinText(signal) {
  const { bulletin } = await get('/api/bulletin', { project: project() }, signal);
  if (!bulletin) return empty('No bulletin yet', 'It is written when the mind has warmed up.');
  const text = bulletin.text.replace(/^# .*\nGenerated:.*\n/, '');
  return [h('div', { class: 'bulletin', tabindex: 0, role: 'region', 'aria-label': 'Bulletin text' }, markdown(text)),
    h('p', { class: 'quiet foot' }, `Number ${bulletin.number}, ${count(bulletin.words)} words by ${bulletin.made_by}, `, when(bulletin.generated_at))];
}

/**
 * @param {any} stats
 * @param {AbortSignal} signal
 */
async function healthRows(stats, signal) {
  const [ready, budget] = await Promise.all([get('/readyz', {}, signal), get('/api/budget', { limit: 1 }, signal)]);
  /** @type {[string, string, string, string?][]} */
  const rows = [
    ['good', 'Store', `${bytes(stats.file_bytes)}, ${counted(stats.entries, 'entry', 'entries')}, last `, stats.last_entry_at],
    [ready.warmup.state === 'warm' ? 'good' : 'warn', 'Mind', ready.warmup.last_error || ready.warmup.state],
  ];
  for (const [name, state] of Object.entries(ready.services)) rows.push([state === 'running' ? 'good' : 'bad', `Service ${name}`, String(state)]);
  rows.push([budget.kill_switch ? 'warn' : 'good', 'Spent today', `$${budget.dollars.toFixed(2)}, ${counted(budget.tokens, 'token')}${budget.kill_switch ? ' — models are switched off' : ''}`]);
  return h('ul', { class: 'health' }, rows.map(([state, name, words, at]) => h('li', {},
    h('span', { class: `dot ${state}`, role: 'img', 'aria-label': state === 'good' ? 'well' : 'look here' }), h('b', {}, name),
    h('span', { class: 'quiet' }, words, at && when(at)))));
}

/** @param {AbortSignal} signal */
async function attentionRows(signal) {
  const audit = await get('/api/audit', { project: project(), limit: 1 }, signal);
  if (audit.findings.length === 0) {
    return h('p', { class: 'fine' }, icon('check'), ` ${counted(audit.memories, 'memory', 'memories')} looked at, all is well.`);
  }
  return h('ul', { class: 'health' }, audit.findings.slice(0, 6).map((/** @type {any} */ finding) => h('li', {},
    h('span', { class: 'pill warn' }, count(finding.count)), h('a', { class: 'grow', href: `/audit#${finding.problem}` }, finding.says))));
}

/** @param {AbortSignal} signal */
async function agentRows(signal) {
  const sessions = await get('/api/sessions', { live: true, limit: 6, project: project() }, signal);
  if (sessions.length === 0) return empty('No agent is at work', 'A session appears here while it lasts.');
  return h('ul', { class: 'health' }, sessions.map((/** @type {any} */ session) => h('li', {},
    h('span', { class: 'dot good' }), h('a', { href: `/sessions/${encodeURIComponent(session.id)}` }, session.agent || session.id),
    h('span', { class: 'quiet' }, `${session.project || 'no project'}, ${counted(session.memories, 'memory', 'memories')}`))));
}
