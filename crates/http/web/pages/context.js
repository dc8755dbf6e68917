// What agents see: the very text that an agent gets, at each moment at which it gets one, what each part of it costs,
// and what did not fit. What is in it can be pinned or put away here, and the text is then another one at once.

import { act } from '../lib/actions.js';
import { get } from '../lib/api.js';
import { h, icon, input, map, quiet, quietLine, s, show } from '../lib/dom.js';
import { badge, card, empty, fillIn, heading } from '../lib/parts.js';
import { markdown } from '../lib/markdown_dom.js';
import { go, reload } from '../lib/router.js';
import { project } from '../lib/state.js';
import { bare, bytes, count, counted, tokens } from '../lib/text.js';

/** @typedef {{text: string, ids: number[], leftOut: number[], notes: Child[], more: number}} Seen */

const BUDGETS = [2_048, 4_096, 8_192, 16_384, 32_768, 65_536];
const DEFAULT_BUDGET = 16_384;
const TASK_BUDGETS = [1_000, 2_000, 3_000, 6_000, 12_000];
const DEFAULT_TASK = 3_000;
/** Memories that are named beside the text. */
const NAMED_MAX = 40;
const AGENTS = ['claude-code', 'codex', 'gemini-cli', 'opencode', 'cursor', 'copilot-cli', 'qwen-code', 'goose'];

/**
 * The moments at which an agent is told something: what each is called, what that is, and what has to be said for it.
 * @type {{[when: string]: {name: string, about: string, asks?: string, example?: string}}}
 */
const MOMENTS = {
  start: { name: 'At the start', about: 'What hooks put before an agent when a session begins.' },
  prompt: { name: 'With a prompt', about: 'What hooks add when a person asks the agent something. Mostly that is nothing.', asks: 'The prompt', example: 'why is the import so slow?' },
  tool: { name: 'Before a tool', about: 'What hooks add when the agent is about to change a file or to run a command.', asks: 'A file or a command', example: 'src/cache.rs' },
  task: { name: 'For a task', about: 'What an agent gets that asks what to know before a task (cortex context).', asks: 'The task, in words', example: 'make the import faster' },
  asks: { name: 'When it asks', about: 'What an agent gets that asks for its context (mem_context).' },
};

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const when = MOMENTS[query.get('when') ?? ''] ? String(query.get('when')) : 'start';
  const seen = await ask(when, query, signal);
  return [
    heading('What agents see', { sub: `${MOMENTS[when]?.about ?? ''} ${project() ? `In ${project()}.` : 'In no particular project: choose one above.'}` }),
    bar(when, query),
    seen === null ? empty('Say what it is about', 'What is told depends on it.') : h('div', { class: 'columns' },
      h('div', {}, textCard(seen, when), when === 'asks' && bulletinCard(signal)),
      h('div', {}, card('Cost', costs(seen)), memoriesCard('In it', seen.ids, true, signal), memoriesCard('Did not fit', seen.leftOut, false, signal))),
  ];
}

/**
 * The text of a moment. Nobody counts as told by looking. `null`: something has to be said first.
 * @param {string} when
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 * @returns {Promise<Seen | null>}
 */
async function ask(when, query, signal) {
  const words = query.get('q')?.trim() ?? '';
  if (MOMENTS[when]?.asks && !words) return null;
  if (when === 'asks') {
    const context = await get('/api/context', { project: project(), max_bytes: Number(query.get('bytes')) || DEFAULT_BUDGET }, signal);
    return { text: context.text, ids: [...context.pinned, ...context.memories].map((/** @type {any} */ brief) => brief.id), leftOut: [], notes: [], more: context.left_out };
  }
  if (when === 'task') {
    const bundle = await get('/api/bundle', { project: project(), about: words, budget: Number(query.get('tokens')) || DEFAULT_TASK }, signal);
    const ids = (/** @type {any[]} */ uris) => uris.map((uri) => Number(/\/(\d+)(?:#\d+)?$/.exec(String(uri))?.[1])).filter(Boolean);
    return { text: bundle.text, ids: ids(map([...bundle.pinned, ...bundle.relevant, ...bundle.outcomes], (item) => item.uri)), leftOut: ids(bundle.overflow), more: bundle.trimmed,
      notes: bundle.rules_missing > 0 ? [`${counted(bundle.rules_missing, 'rule')} did not fit, even in short.`] : [] };
  }
  const isFile = /^[^\s]*[/.][^\s]*$/.test(words);
  const told = await get('/api/briefing', { moment: when === 'start' ? '' : when, agent: query.get('agent') ?? AGENTS[0], project: project(),
    ...(when === 'prompt' && { prompt: words }), ...(when === 'tool' && (isFile ? { file: words } : { command: words })) }, signal);
  const leftOut = told.left_out ?? [];
  return { text: told.context ?? '', ids: told.memories, leftOut, notes: told.notes ?? [], more: leftOut.length };
}

/**
 * Moment, agent, budget, and what has to be said.
 * @param {string} when
 * @param {URLSearchParams} query
 */
function bar(when, query) {
  const to = (/** @type {{[name: string]: string}} */ change) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(change)) next.set(name, value);
    go(`/context?${next}`);
  };
  const moment = MOMENTS[when];
  const field = input({ type: 'text', 'aria-label': moment?.asks ?? '', placeholder: moment?.example ?? '', value: query.get('q') ?? '', maxlength: 4000, autocomplete: 'off' });
  const choice = (/** @type {string} */ label, /** @type {string} */ name, /** @type {[string, string][]} */ options, /** @type {string} */ chosen) => [h('label', { class: 'hidden', for: `choose-${name}` }, label),
    h('select', { id: `choose-${name}`, onchange: (event) => to({ [name]: event.target.value, ...(field.value.trim() && { q: field.value.trim() }) }) }, options.map(([value, words]) => h('option', { value, selected: value === chosen }, words)))];
  return [
    h('div', { class: 'filters', role: 'group', 'aria-label': 'When' }, Object.entries(MOMENTS).map(([key, { name }]) => h('button', { class: 'button small', 'aria-pressed': String(key === when), onclick: () => go(key === 'start' ? '/context' : `/context?when=${key}`) }, name)),
      ['start', 'prompt', 'tool'].includes(when) && choice('Agent', 'agent', AGENTS.map((name) => [name, name]), query.get('agent') ?? ''),
      when === 'asks' && choice('Budget', 'bytes', BUDGETS.map((size) => [String(size), `at most ${bytes(size)}`]), query.get('bytes') ?? String(DEFAULT_BUDGET)),
      when === 'task' && choice('Budget', 'tokens', TASK_BUDGETS.map((size) => [String(size), `at most ${count(size)} tokens`]), query.get('tokens') ?? String(DEFAULT_TASK))),
    moment?.asks && h('form', { class: 'say-row', onsubmit: (event) => { event.preventDefault(); if (field.value.trim()) to({ q: field.value.trim() }); } }, field, h('button', { class: 'button primary', type: 'submit' }, 'Show')),
  ];
}

/**
 * @param {Seen} seen
 * @param {string} when
 */
function textCard(seen, when) {
  if (!seen.text) {
    const reason = { start: 'Nothing here binds an agent or tells where work stopped.', prompt: 'No memory answers it well enough to interrupt.', tool: 'No rule, decision or mended bug names it.' }[when] ?? 'Nothing fits the task.';
    return card('The exact text', [empty('The agent is told nothing', reason), seen.notes.map((note) => quietLine(note))]);
  }
  const text = h('div', { class: 'context-text' }, seen.text);
  const rendered = h('button', { class: 'button small', 'aria-pressed': 'false', onclick: () => {
    const on = rendered.getAttribute('aria-pressed') === 'false';
    rendered.setAttribute('aria-pressed', String(on));
    show(text, on ? markdown(seen.text) : seen.text);
    text.classList.toggle('context-text', !on);
  } }, 'Rendered');
  return card('The exact text', [text, seen.notes.map((note) => quietLine(note))], { aside: rendered });
}

/** @param {AbortSignal} signal */
function bulletinCard(signal) {
  const place = h('div');
  void fillIn(place, async () => {
    const answer = await get('/api/bulletin', { project: project(), as_prompt: true }, signal);
    return answer.bulletin ? h('div', { class: 'context-text' }, answer.bulletin.text) : empty('No bulletin yet', 'It is written when the mind has warmed up.');
  }, 4);
  return card('Bulletin, as a prompt holds it', place);
}

/**
 * Memories beside the text, each with what changes it.
 * @param {string} title
 * @param {number[]} ids
 * @param {boolean} isIn
 * @param {AbortSignal} signal
 */
function memoriesCard(title, ids, isIn, signal) {
  if (ids.length === 0) return null;
  const place = h('div');
  void fillIn(place, async () => {
    const found = await Promise.all(ids.slice(0, NAMED_MAX).map((id) => get(`/api/observations/${id}`, { quiet: true }, signal).catch(() => null)));
    return [h('ul', { class: 'rows' }, found.filter(Boolean).map((memory) => h('li', { class: 'in-context' },
      h('a', { class: 'row slim', href: `/m/${memory.id}`, 'data-id': memory.id }, badge(memory), h('span', { class: 'row-title' }, bare(memory.title))),
      h('button', { class: 'icon-button', 'aria-label': `${memory.pinned ? 'Unpin' : 'Pin'} ${memory.title}`, 'aria-pressed': String(memory.pinned), onclick: () => void act(memory.pinned ? 'unpin' : 'pin', [memory], reload) }, icon('pin')),
      isIn && h('button', { class: 'icon-button', 'aria-label': `Put away ${memory.title}`, title: 'Put away', onclick: () => void act('archive', [memory], reload) }, icon('close'))))),
    ids.length > NAMED_MAX && quietLine(`and ${count(ids.length - NAMED_MAX)} more`)];
  }, 3);
  return card(title, place, { aside: quiet(isIn ? 'change it and see' : 'pin what must be in it') });
}

/**
 * Tokens by part, as a bar and as numbers.
 * @param {Seen} seen
 */
function costs(seen) {
  const total = tokens(seen.text);
  // Parts begin with a heading of Markdown, or with a line that ends with a colon below an empty one.
  const parts = seen.text.split(/^(?=## |---$)|(?<=\n\n)(?=[^\n-][^\n]*:\n)/m).filter((part) => part.trim())
    .map((part) => ({ name: /^## (.*)/.exec(part)?.[1] ?? /^([^\n-][^\n]*):\n/.exec(part)?.[1] ?? (part.startsWith('---') ? 'Counts' : 'Opening'), tokens: tokens(part) }));
  let at = 0;
  const line = s('svg', { class: 'parts-bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Tokens by part' },
    map(parts, (part, index) => {
      const width = (part.tokens / Math.max(total, 1)) * 100;
      at += width;
      return s('rect', { x: at - width, y: 0, width, height: 10, class: `c${index % 6}` });
    }));
  return [
    h('p', {}, h('span', { class: 'big' }, count(total)), ' tokens, estimated · ', bytes(new TextEncoder().encode(seen.text).length)), total > 0 && line,
    h('ul', { class: 'parts' }, map(parts, (part, index) => h('li', {},
      h('span', { class: `swatch c${index % 6}` }), part.name, h('span', { class: 'number' }, count(part.tokens))))),
    h('p', {}, h('span', { class: seen.more > 0 ? 'pill warn' : 'pill good' }, seen.more > 0 ? `${counted(seen.more, 'line')} did not fit` : 'everything fits')),
  ];
}
