// Memories: the list of all, and the search as it is typed. `/memories` lists, `/search?q=` finds; both take the same
// filters, and both can act on many at once.

import { act } from '../lib/actions.js';
import { get, getPage } from '../lib/api.js';
import { button, h, input, show } from '../lib/dom.js';
import { who } from '../lib/feed.js';
import { setPageKeys } from '../lib/keys.js';
import { longList, memoryPages } from '../lib/list.js';
import { empty, heading, memoryRow } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { project } from '../lib/state.js';
import { counted } from '../lib/text.js';
import { armBars } from './arms.js';

const HITS = 50;
/** Hits that hardly fit and are shown all the same; the others are one click away. */
const WEAK_SHOWN = 10;
const PAGE = 100;
const TAGS = 100;
/** How long tags are taken for current. */
const TAGS_MS = 30_000;
const DAY = 86_400_000;
/** The words that were in sight when filters were last drawn, so that a choice does not empty its own list. */
let kinds = new Set(['decision', 'bugfix', 'discovery', 'rule', 'learning']);
/** Who wrote what was in sight. @type {Set<string>} */
const writers = new Set();

/** @param {Visit} visit */
export async function open({ path, query, signal }) {
  const text = path === '/search' ? query.get('q')?.trim() ?? '' : '';
  const chosen = Object.fromEntries(query);
  const filters = { project: project(), type: chosen.type, session_id: chosen.session, tag: chosen.tag };
  const started = performance.now();
  /** @type {Map<number, any>} */
  const selected = new Map();
  const bar = h('div', { class: 'bulk', hidden: true, role: 'toolbar', 'aria-label': 'Selected memories' });
  // Whoever types waits for hits, not for a list of tags.
  const tags = tagsOf();
  const list = text ? await found(text, filters, chosen, signal) : await listed(filters, chosen, signal);
  const took = Math.round(performance.now() - started);
  for (const item of list.items) {
    kinds.add(item.type);
    if (item.by) writers.add(item.by);
  }
  const row = (/** @type {any} */ item) => {
    const box = input({
      type: 'checkbox', 'aria-label': `Select ${item.title}`, checked: selected.has(item.id),
      onchange: () => {
        if (box.checked) selected.set(item.id, item);
        else selected.delete(item.id);
        drawBar();
      },
    });
    return h('div', { class: 'pick' }, box, memoryRow(item, { extra: item.rank === undefined ? null : armBars(item) }));
  };
  const drawBar = () => {
    bar.hidden = selected.size === 0;
    const run = (/** @type {any} */ action) => void act(action, [...selected.values()], reload);
    const put = chosen.state ? ['restore'] : ['pin', 'unpin', 'archive', 'forget'];
    const tag = input({ 'aria-label': 'Tag', placeholder: 'tag', size: 12, maxlength: 64 });
    const tagged = (/** @type {any} */ action) => { if (tag.value.trim()) void act(action, [...selected.values()], reload, tag.value.trim()); };
    show(bar, h('strong', {}, `${selected.size} selected`), put.map((action) =>
      button('small', () => run(action), action === 'restore' ? 'Bring back' : action.slice(0, 1).toUpperCase() + action.slice(1))),
    !chosen.state && [tag, button('small', () => tagged('add_tag'), 'Add tag'), button('small', () => tagged('remove_tag'), 'Remove tag')],
    button('link', () => { selected.clear(); view.redraw(); drawBar(); }, 'Clear'));
  };
  const view = longList({ label: 'Memories', total: list.total, signal, row, load: list.load, first: list.items });
  const focused = (/** @type {HTMLElement | null} */ focus) => list.items.find((/** @type {any} */ item) => String(item.id) === focus?.dataset.id)
    ?? view.itemAt(Number(focus?.closest('.slot')?.getAttribute('data-index')));
  setPageKeys({
    x: (focus) => focus?.closest('.pick')?.querySelector('input')?.click(),
    p: (focus) => { const item = focused(focus); if (item) void act(item.pinned ? 'unpin' : 'pin', [item], reload); },
    a: (focus) => { const item = focused(focus); if (item) void act(item.archived ? 'restore' : 'archive', [item], reload); },
    e: (focus) => { if (focus?.dataset.id) go(`/m/${focus.dataset.id}/edit`); },
  });
  // Tags of many memories take a moment; the list does not wait for them.
  const drawn = known.tags;
  const choices = h('div', {}, filterBar(path, query, Boolean(text), drawn));
  void tags.then((now) => { if (!signal.aborted && now !== drawn) show(choices, filterBar(path, query, Boolean(text), now)); });
  const place = project() ? ` in ${project()}` : '';
  return [
    heading(text ? 'Search' : 'Memories', {
      sub: text ? `${counted(list.total, 'hit')} for “${text}”${place}, ${took} ms` : `${counted(list.total, 'memory', 'memories')}${place}`,
    }),
    choices, bar,
    text && list.total > 0 && list.items.every((/** @type {any} */ item) => item.level === 'weak') && h('p', { class: 'note' }, 'Nothing here clearly answers this. These come closest:'),
    list.total === 0 ? nothing(text, chosen) : h('div', { class: 'card list-card' }, view.element),
    list.hidden > 0 && h('p', { class: 'note' }, h('a', { href: `${path}?${new URLSearchParams({ ...chosen, all: '1' })}` }, `${counted(list.hidden, 'more hit')} that fit less`)),
  ];
}

/** The tags of a project, as they were a moment ago. @type {{project: string, until: number, tags: {tag: string, memories: number}[]}} */
let known = { project: '', until: 0, tags: [] };
/** The request under way. It outlives the visit that began it: the next letter wants the same. @type {{project: string, tags: Promise<typeof known.tags>} | null} */
let asking = null;

function tagsOf() {
  const name = project();
  if (known.project === name && Date.now() < known.until) return Promise.resolve(known.tags);
  if (asking?.project !== name) asking = { project: name, tags: askTags(name) };
  return asking.tags;
}

async function askTags(/** @type {string} */ name) {
  if (known.project !== name) known = { project: name, until: 0, tags: [] };
  try {
    const { tags } = await get('/api/tags', { project: name, limit: TAGS });
    if (known.project === name) known = { project: name, until: Date.now() + TAGS_MS, tags };
    return tags;
  } catch {
    // A filter that is not there is no reason not to show memories.
    return known.tags;
  } finally {
    if (asking?.project === name) asking = null;
  }
}

/** When the days that were chosen began. @param {any} chosen */
function since(chosen) {
  return chosen.days ? new Date(Date.now() - Number(chosen.days) * DAY).toISOString() : undefined;
}

/**
 * @param {string} text
 * @param {any} filters
 * @param {any} chosen
 * @param {AbortSignal} signal
 */
async function found(text, filters, chosen, signal) {
  const asOf = chosen.as_of ? new Date(`${chosen.as_of}T23:59:59`).toISOString() : undefined;
  /** @type {Hit[]} */
  const hits = await get('/api/search', { q: text, ...filters, since: since(chosen), as_of: asOf, limit: HITS, quiet: true }, signal);
  if (chosen.sort === 'newest') hits.sort((a, b) => b.created_at.localeCompare(a.created_at));
  if (chosen.sort === 'oldest') hits.sort((a, b) => a.created_at.localeCompare(b.created_at));
  let weak = 0;
  const shown = chosen.all ? hits : hits.filter((hit) => hit.level !== 'weak' || (weak += 1) <= WEAK_SHOWN);
  return { items: shown, total: shown.length, hidden: hits.length - shown.length, load: async () => /** @type {any[]} */ ([]) };
}

/**
 * @param {any} filters
 * @param {any} chosen
 * @param {AbortSignal} signal
 */
async function listed(filters, chosen, signal) {
  const query = { ...filters, by: chosen.by, since: since(chosen), archived: chosen.state === 'archived', forgotten: chosen.state === 'forgotten', preview: 240 };
  const first = await getPage('/api/observations', { ...query, limit: PAGE }, signal);
  const oldest = chosen.sort === 'oldest';
  const load = memoryPages(query, first.total, oldest, signal);
  return { items: oldest ? await load(0, PAGE) : first.data, total: first.total, hidden: 0, load };
}

/**
 * @param {string} text
 * @param {any} chosen
 */
function nothing(text, chosen) {
  if (text) return empty('Nothing was found', project() ? `Only ${project()} was looked at. Choose all projects above to look everywhere.` : 'Try other words. The search knows what words mean, but only for what was saved.');
  if (chosen.state) return empty(`Nothing is ${chosen.state}`, 'What is put away can be brought back from here.');
  if (chosen.type || chosen.tag || chosen.session || chosen.by || chosen.days) return empty('Nothing here yet', 'No memory fits these filters.', h('a', { class: 'button', href: '/memories' }, 'All memories'));
  return empty('Nothing here yet', project() ? `No memory belongs to ${project()}.` : 'What your agents save appears here. Home says how to connect one.', h('a', { class: 'button', href: '/new' }, 'New memory'));
}

/**
 * @param {string} path
 * @param {URLSearchParams} query
 * @param {boolean} searching
 * @param {{tag: string, memories: number}[]} tags
 */
function filterBar(path, query, searching, tags) {
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    const words = next.toString();
    go(words ? `${path}?${words}` : path);
  };
  const choice = (/** @type {string} */ label, /** @type {string} */ name, /** @type {[string, string][]} */ options) => {
    const box = h('select', { 'aria-label': label, onchange: (event) => set(name, event.target.value) },
      options.map(([value, words]) => h('option', { value, selected: value === (query.get(name) ?? '') }, words)));
    return box;
  };
  const type = query.get('type');
  const types = [...new Set([...kinds, ...(type ? [type] : [])])].sort();
  const session = query.get('session');
  const by = [...new Set([...writers, ...(query.get('by') ? [String(query.get('by'))] : [])])].sort();
  const tag = query.get('tag');
  const named = tags.map((each) => /** @type {[string, string]} */ ([each.tag, `${each.tag} (${each.memories})`]));
  if (tag && !tags.some((each) => each.tag === tag)) named.unshift([tag, tag]);
  return h('div', { class: 'filters', role: 'group', 'aria-label': 'Filters' },
    choice('Type', 'type', [['', 'Any type'], ...types.map((each) => /** @type {[string, string]} */ ([each, each]))]),
    named.length > 0 && choice('Tag', 'tag', [['', 'Any tag'], ...named]),
    choice('Age', 'days', [['', 'Any time'], ['1', 'Last day'], ['7', 'Last week'], ['30', 'Last month'], ['365', 'Last year']]),
    searching
      ? [h('label', { class: 'inline' }, 'As of ', h('input', { type: 'date', value: query.get('as_of') ?? '', onchange: (event) => set('as_of', event.target.value) }))]
      : [by.length > 1 && choice('Written by', 'by', [['', 'By anybody'], ...by.map((each) => /** @type {[string, string]} */ ([each, `by ${who(each)}`]))]), choice('State', 'state', [['', 'Current'], ['archived', 'Archived'], ['forgotten', 'Forgotten']])],
    choice('Order', 'sort', searching ? [['', 'Best first'], ['newest', 'Newest first'], ['oldest', 'Oldest first']] : [['', 'Newest first'], ['oldest', 'Oldest first']]),
    session && button('small', () => set('session', ''), `Session ${session} ✕`));
}
