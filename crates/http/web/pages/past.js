// The past: what coding agents wrote down on this machine. `/past` lists and searches sessions, `/past/AGENT:SESSION` is one
// of them as it was led, with what was done folded away.

import { get, send } from '../lib/api.js';
import { confirmTyped } from '../lib/dialog.js';
import { actions, button, h, input, map, pill, quiet, quietLine, show } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, commandLine, details, empty, heading, problem, skeleton, when } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { bytes, count, counted } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';
import { diffView } from './memory_versions.js';

const SESSIONS = 100;
const HITS = 30;
/** What a person said and what was answered; the rest is work, and is folded. */
const SAID = new Set(['prompt', 'answer', 'summary']);
/** Letters of an output that are drawn; the rest is in the file. */
const OUTPUT_MAX = 6_000;

/** @param {Visit} visit */
export async function open({ parts, query, signal }) {
  if (parts[1]) return one(parts.slice(1).join('/'), query, signal);
  const state = await get('/api/past', {}, signal);
  if (state.sessions === 0) return [heading('History', { sub: 'Sessions that coding agents left on this machine, made searchable.' }), card('Sessions that agents left here', [h('p', {}, 'What Claude Code, Codex and others wrote down in your home, as one history you can ask.'), foundSessions()])];
  const [asked, agent] = [query.get('q')?.trim() ?? '', query.get('agent') ?? ''];
  const field = input({ type: 'search', 'aria-label': 'Have we dealt with this before?', placeholder: 'Have we dealt with this before? Ask in your own words.', value: asked, maxlength: 1000 });
  const ask = (/** @type {string} */ who) => go(`/past?${new URLSearchParams({ ...(field.value.trim() && { q: field.value.trim() }), ...(who && { agent: who }) })}`);
  return [
    heading('History', {
      sub: [`${counted(state.sessions, 'session')} of ${Object.keys(state.agents).join(', ')}; ${counted(state.turns, 'turn')}, ${bytes(state.bytes)}`, state.kept_only_here > 0 && `; ${counted(state.kept_only_here, 'session')} kept only here`],
      actions: button('', () => void readNew([]), 'Read what is new'),
    }),
    h('form', { class: 'say-row', role: 'search', onsubmit: (event) => { event.preventDefault(); ask(agent); } }, field,
      h('select', { 'aria-label': 'Agent', onchange: (event) => ask(event.target.value) },
        h('option', { value: '' }, 'All agents'), Object.keys(state.agents).map((name) => h('option', { value: name, selected: name === agent }, name))),
      h('button', { class: 'button primary', type: 'submit' }, 'Search')),
    asked ? await hits(asked, agent, signal) : await sessions(agent, signal),
  ];
}

/**
 * @param {string} asked
 * @param {string} agent
 * @param {AbortSignal} signal
 */
async function hits(asked, agent, signal) {
  const answer = await get('/api/past/search', { q: asked, agent, limit: HITS }, signal);
  if (answer.past.length === 0) return empty('No turn answers that', 'Other words may help, or another agent.');
  return h('div', { class: 'card list-card' }, h('ul', { class: 'rows' }, map(answer.past, (hit) => h('li', {}, row(`/past/${encodeURIComponent(`${hit.agent}:${hit.session}`)}?turn=${hit.turn}`, hit.agent, hit.title || hit.prompt || hit.reference,
    hit.preview, [hit.project && h('span', {}, hit.project), h('span', {}, `turn ${hit.turn}`), hit.at && when(hit.at)])))));
}

/**
 * @param {string} agent
 * @param {AbortSignal} signal
 */
async function sessions(agent, signal) {
  const answer = await get('/api/past/sessions', { agent, limit: SESSIONS }, signal);
  return [h('div', { class: 'card list-card' }, h('ul', { class: 'rows' }, map(answer.sessions, (each) => h('li', {}, row(`/past/${encodeURIComponent(each.ref)}`, each.agent, each.title || each.session, each.folder ?? '',
    [h('span', {}, counted(each.turns, 'turn')), each.kept_only_here && pill('warn', 'only copy'), each.updated_at && when(each.updated_at)]))))),
  answer.left_out > 0 && quietLine(`${counted(answer.left_out, 'older session')} not listed; a question finds them too.`)];
}

/**
 * @param {string} href
 * @param {string} agent
 * @param {string} title
 * @param {string} text
 * @param {Child} meta
 */
function row(href, agent, title, text, meta) {
  return h('a', { class: 'row', href }, h('span', { class: 'row-top' }, pill('accent', agent), h('span', { class: 'row-title' }, title)),
    h('span', { class: 'row-sub' }, h('span', { class: 'row-text' }, text)), h('span', { class: 'row-meta' }, meta));
}

/**
 * One session. A turn that the address names is marked and scrolled to.
 * @param {string} reference
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
async function one(reference, query, signal) {
  const turn = Number(query.get('turn')) || 0;
  const path = `/api/past/sessions/${encodeURIComponent(reference)}`;
  let answer = await get(path, { work: true }, signal);
  const isThere = (/** @type {any} */ each) => each.turn === turn;
  if (query.has('whole') || (turn && !answer.turns.some(isThere))) answer = await get(path, { work: true, whole: true }, signal);
  const { session } = answer;
  const turns = map(answer.turns, (each) => turnCard(each, isThere(each)));
  if (turn) setTimeout(() => turns[answer.turns.findIndex(isThere)]?.scrollIntoView({ block: 'center' }), 0);
  return [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: '/past' }, 'History'), ' / ', session.agent),
    heading(session.title || session.session, { sub: [`${counted(session.turns, 'turn')}, `, session.updated_at && when(session.updated_at)],
      actions: button('danger', () => forgetSession(session), 'Forget…') }),
    h('div', { class: 'columns' },
      h('div', {}, answer.left_out > 0 && h('p', { class: 'note' }, `${counted(answer.left_out, 'turn')} before these. `, h('a', { href: `/past/${encodeURIComponent(reference)}?whole=1` }, 'Show all of them')), turns),
      h('div', {}, card('Details', details([['Agent', [session.agent, session.version && ` ${session.version}`]], ['Folder', session.folder && h('code', { class: 'wrap' }, session.folder)], ['Branch', session.branch],
        ['Began', session.started_at && when(session.started_at)], ['Size', `${bytes(session.bytes)}, ${counted(session.items, 'item')}`],
        ['Source', session.kept_only_here ? 'gone: this is the only copy' : 'still there'], ['Led by', session.parent && h('a', { href: `/past/${encodeURIComponent(session.parent)}` }, session.parent)]])),
      card('Go on with it', [quietLine('In a terminal, where the agent left off:'), actions(commandLine(`cortex past resume ${session.ref}`))]))),
  ];
}

/**
 * @param {any} turn
 * @param {boolean} isHere
 */
function turnCard(turn, isHere) {
  const work = turn.items.filter((/** @type {any} */ item) => !SAID.has(item.role));
  const failed = work.filter((/** @type {any} */ item) => item.error || item.exit > 0).length;
  const told = (/** @type {any} */ item) => h('div', { class: `said-${item.role}` }, item.role === 'prompt' ? item.text : markdown(item.text));
  const steps = h('div', { class: 'work' });
  const fold = h('details', { class: 'fold', ontoggle: () => { if (steps.childElementCount === 0) show(steps, work.map(step)); } },
    h('summary', {}, counted(work.length, 'step'), failed > 0 && h('span', { class: 'bad-text' }, `, ${count(failed)} failed`)), steps);
  return h('article', { class: `card turn ${isHere ? 'here' : ''}`, 'aria-label': `Turn ${turn.turn}` },
    turn.items.filter((/** @type {any} */ item) => item.role === 'prompt').map(told), work.length > 0 && fold,
    turn.items.filter((/** @type {any} */ item) => SAID.has(item.role) && item.role !== 'prompt').map(told),
    h('footer', {}, quiet(`turn ${turn.turn}`, turn.undone && ', taken back', turn.at && [', ', when(turn.at)]),
      button('link', () => void keepTurn(turn), 'Keep as a memory')));
}

/** @param {any} item */
function step(item) {
  const text = item.text.length > OUTPUT_MAX ? `${item.text.slice(0, OUTPUT_MAX)}\n… ${count(item.text.length - OUTPUT_MAX)} more letters` : item.text;
  return h('div', { class: 'step' }, pill('', item.role), item.path && h('code', { class: 'wrap' }, item.path),
    item.exit !== undefined && h('span', { class: item.exit === 0 ? 'fine' : 'bad-text' }, `ended with ${item.exit}`), item.error && h('span', { class: 'bad-text' }, 'failed'),
    item.role === 'edit' ? diffView(item.removed ?? '', text) : text && h('pre', { tabindex: 0 }, text), item.tail && h('pre', { tabindex: 0 }, `…\n${item.tail}`));
}

/** @param {any} turn */
async function keepTurn(turn) {
  await attempt(async () => {
    const kept = await send('POST', '/api/past/keep', { ref: turn.ref });
    tell(`Kept as #${kept.id}: ${kept.title}`, kept.updated ? null : () => send('DELETE', `/api/observations/${kept.id}`, {}, { reason: 'kept by mistake' }));
  });
}

/** @param {any} session */
function forgetSession(session) {
  const name = (session.title || session.session).trim();
  confirmTyped('Forget this session', session.kept_only_here ? 'Its source is gone, so this is the only copy: nothing brings it back.' : 'Every word of it goes from the memory and does not come back by itself. The file of the agent stays where it is.',
    name, 'Forget it', () => attempt(async () => {
      await send('POST', '/api/past/forget', { refs: [session.ref], reason: 'by hand, on the page' });
      tell('The session is forgotten.', session.kept_only_here ? null : () => send('POST', '/api/past/restore', { ref: session.ref }), () => go(`/past/${encodeURIComponent(session.ref)}`));
      go('/past');
    }));
}

/** Reads what agents wrote since the last time. @param {string[]} agents */
async function readNew(agents) {
  await attempt(async () => {
    const answer = await send('POST', '/api/past/read', { agents });
    tell(answer.changed_files > 0 ? `${counted(answer.changed_files, 'file')} read: ${counted(answer.sessions, 'session')}, ${counted(answer.turns, 'turn')} in all.` : 'Nothing new.');
    reload();
  });
}

/** What there would be to read, and a button that reads it. Reading changes no file of an agent. */
export function foundSessions() {
  const place = h('div', {}, skeleton(2));
  const look = async () => {
    try {
      const answer = await send('POST', '/api/past/read', { dry_run: true });
      show(place, answer.changed_files === 0 ? quietLine('No coding agent left a session in your home. When one does, it appears here.') : [
        h('p', {}, h('b', {}, counted(answer.changed_files, 'file')), ` of sessions found, ${bytes(answer.changed_bytes)}.`),
        actions(button('primary', (event) => {
          const button = event.target;
          button.disabled = true;
          show(button, 'Reading …');
          void readNew([]);
        }, 'Make it searchable'), quiet('It is only read; secrets are masked.'))]);
    } catch (error) {
      show(place, problem(error));
    }
  };
  void look();
  return place;
}
