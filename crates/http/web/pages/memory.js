// One memory: what it says, how it came to be, what it is connected to, how it is used, and its proof.

import { act } from '../lib/actions.js';
import { get, send } from '../lib/api.js';
import { asOfSlider } from '../lib/as_of.js';
import { confirmTyped } from '../lib/dialog.js';
import { button, h, icon, map, pill, quiet, quietLine } from '../lib/dom.js';
import { TOLD_BY, who } from '../lib/feed.js';
import { setPageKeys } from '../lib/keys.js';
import { markdown } from '../lib/markdown_dom.js';
import { badge, card, details, empty, fillIn, heading, memoryRow, when } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { capital, count, counted, tokens, words } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';
import { proofCard } from './memory_proof.js';
import { relationsCard } from './memory_relations.js';
import { versionsCard } from './memory_versions.js';

/** How a memory came to be, in words. @type {{[source: string]: string}} */
const SOURCES = { user: 'stated', derived: 'worked out from others', observed: 'noticed by an agent', imported: 'brought from elsewhere' };

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  const [id, version] = (parts[1] ?? '').split('@').map(Number);
  if (!id) throw new Error('The address names no memory, such as /m/12.');
  /** @type {WholeMemory} */
  const memory = await get(`/api/observations/${id}`, { history: true, include_put_away: true, quiet: true, version }, signal);
  const isOld = memory.version !== memory.latest;
  const score = h('div');
  const entities = h('div');
  const around = h('div');
  const similar = h('div');
  const told = h('div');
  void fillIn(score, () => use(memory, signal), 2);
  void fillIn(entities, () => named(memory, signal), 1);
  void fillIn(around, () => timeline(memory, signal), 4);
  void fillIn(similar, () => near(memory, signal), 3);
  void fillIn(told, () => toldRows(memory, signal), 2);
  setPageKeys({
    e: () => go(`/m/${memory.id}/edit`), p: () => void act(memory.pinned ? 'unpin' : 'pin', [memory], reload),
    a: () => void act(memory.archived || memory.deleted_at ? 'restore' : 'archive', [memory], reload),
  });
  return [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: '/memories' }, 'Memories'), ' / ',
      h('span', {}, memory.project || 'no project'), ' / ', h('span', {}, `#${memory.id}`)),
    heading(memory.title || `Memory ${memory.id}`, {
      sub: h('span', { class: 'facts' }, badge(memory), memory.pinned && pill('accent', 'pinned'),
        h('span', {}, 'saved ', when(memory.created_at), ' by ', who(memory.by)),
        memory.latest > 1 && h('span', {}, `version ${memory.version} of ${memory.latest}`), ...memory.tags.map((tag) => h('a', { class: 'pill', href: `/memories?tag=${encodeURIComponent(tag)}` }, tag))),
      actions: buttons(memory),
    }),
    notices(memory, isOld),
    h('div', { class: 'columns' },
      h('div', {},
        asOf(memory), h('article', { class: 'card text-card', 'aria-label': 'Text' }, memory.erased ? empty('The text was erased', 'Its hashes stay, so the journal can still be checked.') : markdown(memory.content), fieldList(memory)),
        versionsCard(memory),
        relationsCard(memory, signal),
        card('Around it', around), card('Similar', similar)),
      h('div', {},
        card('Details', details([
          ['Type', `${memory.memory_type}${memory.type === memory.memory_type.toLowerCase() ? '' : ` (${memory.type})`}`],
          ['Project', memory.project], ['Session', memory.session_id && h('a', { href: `/sessions/${encodeURIComponent(memory.session_id)}` }, memory.session_id)],
          ['Scope', memory.scope], ['Visibility', memory.visibility], ['Topic key', memory.topic_key], ['Importance', memory.importance.toFixed(2)],
          ['Confidence', memory.confidence === 1 ? '' : memory.confidence.toFixed(2)],
          ['Valid from', memory.valid_from && when(memory.valid_from)], ['Valid until', memory.valid_until && when(memory.valid_until)],
          ['Expires', memory.expires && when(memory.expires)], ['Saved again', memory.duplicates > 0 && counted(memory.duplicates, 'time')],
          ['Costs', `about ${counted(tokens(memory.title + memory.content), 'token')}`], ['Address', h('code', { class: 'wrap' }, memory.uri)],
        ])),
        proofCard(memory, signal), card('Use', score), card('Told to', told, { aside: h('a', { class: 'more', href: `/told?memory=${memory.id}` }, 'All') }), card('Names', entities),
        card('Where it comes from', details([
          ['Written by', memory.by], ['How', SOURCES[memory.source] ?? words(memory.source)], ['Journal entry', count(memory.entry)], ['Imported as', memory.origin ?? ''],
          ['Follows from', memory.derived_from.length > 0 && memory.derived_from.map((each) => [h('a', { href: `/m/${each.replace('#', '@')}` }, `#${each}`), ' '])],
          ['Changed', when(memory.updated_at)],
        ])))),
  ];
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function toldRows(memory, signal) {
  const { tellings } = await get('/api/tellings', { memory_id: memory.id, limit: 5 }, signal);
  if (tellings.length === 0) return empty('Nobody yet', 'Agents that get this memory appear here.');
  return h('ul', { class: 'health' }, map(tellings, (telling) => h('li', {}, h('b', {}, who(telling.by)),
    h('span', { class: 'grow' }, TOLD_BY[telling.operation] ?? telling.operation, telling.question && [' ', h('q', {}, telling.question)]), when(telling.at))));
}

/**
 * A slider over the life of a memory: rests on the version that held then.
 * @param {WholeMemory} memory
 */
function asOf(memory) {
  if (memory.history.length < 2 || memory.erased) return null;
  const stops = memory.history.map((version) => Date.parse(version.created_at));
  const [first, last] = [stops[0] ?? 0, stops.at(-1) ?? 0];
  // A little room on the right stands for now.
  const to = last + Math.max(1, (last - first) / 12);
  const own = memory.version === memory.latest ? to : stops[memory.history.findIndex((version) => version.version === memory.version)] ?? to;
  return asOfSlider({ from: first, to, at: own, stops, onpick: (at) => {
    const held = at === null ? memory.latest : memory.history.findLast((version) => Date.parse(version.created_at) <= at + 1)?.version ?? 1;
    go(held === memory.latest ? `/m/${memory.id}` : `/m/${memory.id}@${held}`, { replace: true });
  } });
}

/** @param {WholeMemory} memory */
function buttons(memory) {
  const away = memory.archived || memory.deleted_at;
  return [
    !away && h('a', { class: 'button', href: `/m/${memory.id}/edit` }, 'Edit'),
    !away && button('', () => void act(memory.pinned ? 'unpin' : 'pin', [memory], reload), memory.pinned ? 'Unpin' : 'Pin'),
    !away && button('', () => void act('archive', [memory], reload), 'Archive'),
    !away && button('', () => void act('forget', [memory], reload), 'Forget'),
    away && !memory.erased && button('primary', () => void act('restore', [memory], reload), 'Bring back'),
    !memory.erased && button('danger', () => erase(memory), 'Erase…'),
  ];
}

/** @param {WholeMemory} memory */
function erase(memory) {
  confirmTyped('Erase for good', 'The text of every version is removed from the disk. Nothing brings it back; the journal keeps that it was there.',
    memory.title, 'Erase for good', () => attempt(async () => {
      await send('DELETE', `/api/observations/${memory.id}`, {}, { hard: true, reason: 'erased on the page' });
      tell('Erased for good.');
      reload();
    }));
}

/**
 * @param {WholeMemory} memory
 * @param {boolean} isOld
 */
function notices(memory, isOld) {
  const others = (/** @type {number[]} */ ids) => ids.map((id) => [h('a', { href: `/m/${id}` }, `#${id}`), ' ']);
  return [
    isOld && h('p', { class: 'notice' }, `This is version ${memory.version}. `, h('a', { href: `/m/${memory.id}` }, `Version ${memory.latest} is the newest.`)),
    memory.deleted_at && h('p', { class: 'notice bad' }, 'Forgotten ', when(memory.deleted_at), memory.deleted_reason ? `: ${memory.deleted_reason}` : '.', ' No agent sees it.'),
    memory.archived && h('p', { class: 'notice' }, 'Archived: agents do not find it, and it can be brought back.'),
    memory.superseded_by.length > 0 && h('p', { class: 'notice warn' }, icon('warn'), ' Superseded by ', others(memory.superseded_by)),
    memory.contradicted_by.length > 0 && h('p', { class: 'notice warn' }, icon('warn'), ' Contradicted by ', others(memory.contradicted_by)),
  ];
}

/** @param {WholeMemory} memory */
function fieldList(memory) {
  const pairs = Object.entries(memory.fields ?? {}).filter(([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0));
  return pairs.length > 0 && details(pairs.map(([name, value]) => [capital(words(name)), Array.isArray(value) ? value.join(', ') : String(value)]));
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function use(memory, signal) {
  const worth = memory.erased || memory.deleted_at ? null : await get(`/api/scores/${memory.id}`, {}, signal);
  return [details([
    ['Shown', worth && counted(worth.shown, 'time')], ['Opened', counted(memory.accesses, 'time')], ['Cited', counted(memory.citations, 'time')],
    ['Last used', worth?.last_accessed ? when(worth.last_accessed) : ''],
    ['Pointed at', worth && counted(worth.incoming_edges, 'relation')],
    ['Worth', worth && measured('Worth', worth.score, 5)],
  ]),
  worth && h('details', { class: 'fold' }, h('summary', {}, 'How its worth comes about'), details([
    ['Salience', measured('Salience', worth.salience, 1)],
    ...Object.entries(worth.factors ?? {}).map(([name, value]) => /** @type {[string, Child]} */ ([`\u2022 ${name}`, measured(`Factor ${name}`, Number(value), 1)])),
    ['Importance now', measured('Importance now', worth.importance, 1)],
  ]), quietLine('It decides what stands first in a briefing, and nothing else.'))];
}

/**
 * A number beside what it can be at most.
 * @param {string} label
 * @param {number} value
 * @param {number} max
 */
function measured(label, value, max) {
  return h('span', {}, h('meter', { min: 0, max, value, 'aria-label': label }), ` ${value.toFixed(2)}`, quiet(` of ${max}`));
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function named(memory, signal) {
  const list = await get(`/api/observations/${memory.id}/entities`, {}, signal);
  if (list.length === 0) return quietLine('No file, package or address is named.');
  return h('ul', { class: 'chips' }, map(list, (entity) => h('li', {},
    h('a', { class: 'chip', href: `/search?q=${encodeURIComponent(entity.value)}`, title: entity.type }, quiet(words(entity.type)), ' ', entity.value))));
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function timeline(memory, signal) {
  if (memory.deleted_at) return quietLine('A forgotten memory stands in no timeline.');
  const answer = await get('/api/timeline', { observation_id: memory.id, before: 3, after: 3, quiet: true }, signal);
  const row = (/** @type {any} */ brief) => h('li', { class: brief.id === memory.id ? 'here' : null }, memoryRow(brief));
  return h('ol', { class: 'rows' }, [...answer.before, answer.focus, ...answer.after].map(row));
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function near(memory, signal) {
  if (memory.deleted_at || memory.erased) return quietLine('Only what is remembered has neighbours.');
  const hits = (await get(`/api/observations/${memory.id}/similar`, { limit: 6, quiet: true }, signal)).filter((/** @type {any} */ hit) => hit.id !== memory.id);
  if (hits.length === 0) return quietLine('Nothing reads alike.');
  return h('ul', { class: 'rows' }, hits.slice(0, 5).map((/** @type {any} */ hit) => h('li', {}, memoryRow(hit))));
}
