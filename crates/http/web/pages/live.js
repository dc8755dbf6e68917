// Live: what happens on the bus, as it happens. The list is bounded, so that a busy day does not end the page. Events of
// memories come without a word of what they say; that is asked for, for all of a moment at once.

import { button, h, pill, quiet, show } from '../lib/dom.js';
import { DID, TOLD_BY, explain, lately, who } from '../lib/feed.js';
import { commandLine, empty, heading } from '../lib/parts.js';
import { bare, count, counted, words } from '../lib/text.js';
import { clock, moment } from '../lib/time.js';

const SHOWN_MAX = 300;
/** Events that wait while the list is paused or the page is busy; older ones are counted, not kept. */
const WAITING_MAX = 300;
/** How long events gather before they are drawn together. */
const DRAW_MS = 120;
/** What is shown of the time before the page was opened. */
const LATELY = 40;
const HIDDEN_KEYS = new Set(['tract', 'event', 'ts', 'use_id', 'seq', 'name']);
/** Colours of what happened; the rest is grey. @type {{[event: string]: string}} */
const PILLS = { saved: 'good', restored: 'good', updated: 'accent', told: 'accent', forgotten: 'warn', erased: 'bad', job: 'accent' };
/** Events whose name alone says what was done. */
const SAID = new Set(['told', 'saved', 'changed', 'forgotten', 'restored', 'erased', 'related', 'unrelated', 'updated', 'session_started', 'session_ended']);
/** Events whose entry names the session that they are about. */
const OF_SESSION = new Set(['session_started', 'session_ended', 'prompted']);
/** Parts of the program, as people know them. @type {{[tract: string]: string}} */
const PARTS = { memory: 'memories', cortex: 'runs', mind: 'mind', supervisor: 'services', think: 'days', callosum: 'connections' };
const TRACTS = ['memory', 'cortex', 'mind', 'supervisor', 'think', 'callosum'];

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const list = h('div', { class: 'events', role: 'log', 'aria-label': 'Events' });
  const state = pill('', 'connecting');
  const hint = empty('Nothing has happened yet', 'Whatever your agents save, ask and do appears here as it happens.', commandLine('cortex init'));
  const counter = h('span', { class: 'quiet' });
  let paused = false;
  let total = 0;
  let drawing = false;
  /** @type {any[]} */
  let waiting = [];
  let only = query.get('tract') ?? '';
  let routine = false;
  const draw = () => {
    drawing = false;
    if (paused || waiting.length === 0) return;
    hint.hidden = true;
    const fresh = waiting.map((event) => ({ event, card: eventCard(event) }));
    waiting = [];
    list.prepend(...fresh.map(({ card }) => card).reverse());
    const named = fresh.filter(({ event }) => event.tract === 'memory' && (event.seq || event.event === 'told'));
    if (named.length > 0) {
      // Who may not read what happened still sees that it did.
      void explain(named.map(({ event }) => event), signal).then((known) => known.forEach((event, index) => named[index]?.card.replaceWith(eventCard(event))), () => {});
    }
    while (list.childElementCount > SHOWN_MAX) list.lastElementChild?.remove();
    show(counter, `${count(total)} so far, the newest ${count(list.childElementCount)} shown`);
  };
  const take = (/** @type {any} */ event) => {
    if (only && event.tract !== only) return;
    if (!routine && event.event === 'status') return;
    total += 1;
    waiting.push(event);
    if (waiting.length > WAITING_MAX) waiting = waiting.slice(-WAITING_MAX);
    // One drawing in a while, however many events came.
    if (!drawing) {
      drawing = true;
      setTimeout(draw, DRAW_MS);
    }
  };
  const before = await lately(LATELY, signal).catch(() => []);
  if (before.length > 0 && !only) {
    hint.hidden = true;
    list.append(h('p', { class: 'quiet event' }, 'Earlier'), ...before.map(eventCard));
  }
  const stream = new EventSource('/api/events');
  signal.addEventListener('abort', () => stream.close());
  stream.onopen = () => { show(state, 'live'); state.className = 'pill good'; };
  stream.onerror = () => { show(state, 'reconnecting'); state.className = 'pill warn'; };
  stream.onmessage = (message) => {
    try {
      take(JSON.parse(message.data));
    } catch {
      // A message that is no JSON is none of ours.
    }
  };
  const pause = h('button', { class: 'button', 'aria-pressed': 'false', onclick: () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    show(pause, paused ? 'Go on' : 'Pause');
    draw();
  } }, 'Pause');
  return [
    heading('Live', { sub: [state, ' ', counter], actions: [
      h('label', { class: 'inline' }, h('input', { type: 'checkbox', onchange: (event) => { routine = event.target.checked; } }), 'also status events'),
      h('select', { 'aria-label': 'Part', onchange: (event) => { only = event.target.value; } },
        h('option', { value: '' }, 'Everything'), TRACTS.map((tract) => h('option', { value: tract, selected: tract === only }, PARTS[tract] ?? tract))),
      pause, button('', () => show(list), 'Clear')] }),
    list, hint,
  ];
}

/** @param {any} event */
export function eventCard(event) {
  return event.tract === 'memory' ? memoryCard(event) : busCard(event);
}

/**
 * What an entry says besides which memory it is about: the other end of a relation, what changed, the reason.
 * @param {any} entry
 * @param {(memory: any) => HTMLElement} link
 */
function aboutEntry(entry, link) {
  if (!entry) return null;
  if (entry.other) return [quiet(words(entry.summary.split(' ')[1] ?? '')), link(entry.other)];
  const note = /^(?:update_head|tombstone|restore|erase)$/.test(entry.kind) ? words(entry.summary.replace(/^\d+:? */, '')) : '';
  return note && quiet(note);
}

/** @param {any} event */
function memoryCard(event) {
  const at = typeof event.ts === 'number' ? event.ts : Date.now();
  const link = (/** @type {any} */ memory) => h('a', { href: `/m/${memory.id}` }, bare(memory.title) || `#${memory.id}`);
  const about = event.event === 'told'
    ? [h('span', {}, TOLD_BY[event.operation] ?? event.operation), event.question && h('q', {}, event.question), quiet(counted(event.count, 'memory', 'memories'))]
    : event.event === 'many' ? h('a', { href: `/journal?before=${event.to + 1}` }, counted(event.count, 'entry', 'entries'))
      : event.id ? [link({ id: event.id, title: event.entry?.title }), aboutEntry(event.entry, link)]
        : event.entry?.summary && OF_SESSION.has(event.event) ? h('a', { href: `/sessions/${encodeURIComponent(event.entry.summary)}`, title: event.entry.summary }, 'in its session')
          : h('a', { href: `/journal/${event.seq}` }, event.entry?.summary || `entry ${event.seq}`);
  return h('div', { class: `event of-${event.event}` }, h('header', {},
    h('time', { class: 'quiet', title: moment(at) }, clock(at)), h('span', { class: `pill ${PILLS[event.event] ?? ''}` }, event.event === 'told' ? 'recall' : words(event.event)),
    h('b', {}, who(event.by)), !SAID.has(event.event) && h('span', {}, DID[event.event] ?? words(event.event)), about),
  event.memories?.length > 0 && h('ul', { class: 'told' }, event.memories.slice(0, 5).map((/** @type {any} */ memory) => h('li', {}, link(memory))),
    event.memories.length > 5 && h('li', {}, h('a', { href: '/told' }, `${count(event.memories.length - 5)} more`))));
}

/** @param {any} event */
function busCard(event) {
  const rest = Object.fromEntries(Object.entries(event).filter(([key]) => !HIDDEN_KEYS.has(key)));
  const at = typeof event.ts === 'number' ? event.ts : Date.now();
  const bad = event.event === 'error' || event.event === 'given_up' || event.event === 'rejected';
  const about = event.title ?? event.name ?? event.service ?? event.channel_id ?? '';
  const id = event.memory_id ?? event.observation_id;
  return h('div', { class: 'event' }, h('header', {},
    h('time', { class: 'quiet', title: moment(at) }, clock(at)), pill('', event.tract ?? 'run'),
    h('b', { class: bad ? 'bad-text' : null }, words(String(event.event ?? ''))), id ? h('a', { href: `/m/${id}` }, about || `#${id}`) : h('span', {}, String(about)),
    event.use_id && h('a', { class: 'quiet', href: `/runs/${encodeURIComponent(event.use_id)}` }, `run ${event.use_id}`)),
  Object.keys(rest).length > 0 && h('details', {}, h('summary', {}, 'more'), h('pre', {}, JSON.stringify(rest, null, 2).slice(0, 20_000))));
}
