// The journal: every change in its order, an entry with all it carries, the state at any moment, and which write made a
// memory appear in an answer.

import { get } from '../lib/api.js';
import { h, input, map, pill, quietLine, show } from '../lib/dom.js';
import { card, details, empty, heading, problem, table, when } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { count, counted } from '../lib/text.js';
import { moment } from '../lib/time.js';

const PAGE = 100;
const HITS = 20;
const KINDS = ['write', 'update', 'update_head', 'tombstone', 'restore', 'erase', 'add_edge', 'remove_edge', 'session_start', 'session_end', 'prompt', 'attest', 'mind_run', 'snapshot', 'scope_grant', 'scope_revoke', 'scope_violation', 'touch'];

/** @param {Visit} visit */
export async function open({ parts, query, signal }) {
  if (parts[1]) return one(Number(parts[1]), signal);
  const kind = query.get('kind') ?? '';
  const { size } = await get('/api/activity', { limit: 1 }, signal);
  const before = Math.min(Number(query.get('before')) || size + 1, size + 1);
  const from = kind ? Number(query.get('from')) || 1 : Math.max(1, before - PAGE);
  const answer = await get('/api/journal', { from, limit: PAGE, kind }, signal);
  const entries = kind ? answer.entries : answer.entries.filter((/** @type {any} */ entry) => entry.seq < before).reverse();
  const turn = (/** @type {string} */ words, /** @type {string} */ address) => h('a', { class: 'button', href: address }, words);
  return [
    heading('Journal', {
      sub: `${counted(size, 'entry', 'entries')}. Everything else follows from them.`,
      actions: h('select', { 'aria-label': 'Kind', onchange: (event) => { const value = event.target.value; go(value ? `/journal?kind=${value}` : '/journal'); } },
        h('option', { value: '' }, 'Every kind'), KINDS.map((each) => h('option', { value: each, selected: each === kind }, each.replaceAll('_', ' ')))),
    }),
    bisectCard(size, signal),
    entries.length === 0 ? empty('No such entry', 'Other kinds have some.')
      : h('div', { class: 'card' }, table('Journal', ['Entry', 'When', 'By', 'Kind', 'What'], map(entries, (entry) => [
        h('a', { href: `/journal/${entry.seq}` }, count(entry.seq)), when(entry.at), entry.by, pill('', entry.kind.replaceAll('_', ' ')), entry.summary]))),
    h('p', { class: 'actions more-row' },
      !kind && from > 1 && turn('Earlier', `/journal?before=${from}`), !kind && before <= size && turn('Newest', '/journal'),
      kind && answer.next && turn('Later', `/journal?kind=${kind}&from=${answer.next}`)),
  ];
}

/**
 * @param {number} seq
 * @param {AbortSignal} signal
 */
async function one(seq, signal) {
  const entry = await get(`/api/journal/${seq}`, {}, signal);
  const day = String(entry.at).slice(0, 10);
  return [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: '/journal' }, 'Journal'), ' / ', h('span', {}, count(seq))),
    heading(`Entry ${count(seq)}`, { sub: [pill('', entry.kind.replaceAll('_', ' ')), ' by ', entry.by, ', ', moment(entry.at)],
      actions: [seq > 1 && h('a', { class: 'button', href: `/journal/${seq - 1}` }, 'Before'), h('a', { class: 'button', href: `/journal/${seq + 1}` }, 'After')] }),
    card('What it carries', h('pre', { tabindex: 0 }, JSON.stringify(entry.payload, null, 2))),
    card('Around it', details([['Memory', entry.kind === 'write' ? h('a', { href: `/m/${seq}` }, `#${seq}`) : entry.payload.id && h('a', { href: `/m/${entry.payload.id}` }, `#${entry.payload.id}`)],
      ['Run', entry.run], ['What a search found then', h('a', { href: `/search?q=*&as_of=${day}` }, `as of ${day}`)]])),
  ];
}

/**
 * Which write made a memory appear in the answer to a question: halves the journal until one entry is left.
 * @param {number} size
 * @param {AbortSignal} signal
 */
function bisectCard(size, signal) {
  const question = input({ id: 'bisect-question', type: 'text', maxlength: 1000, required: true });
  const wanted = input({ id: 'bisect-memory', type: 'number', min: 1, required: true });
  const result = h('div', { role: 'status' });
  const isThere = async (/** @type {number} */ seq) => {
    const { at } = await get(`/api/journal/${seq}`, {}, signal);
    const hits = await get('/api/search', { q: question.value, as_of: at, limit: HITS, quiet: true, project: project() }, signal);
    return hits.some((/** @type {any} */ hit) => hit.id === Number(wanted.value));
  };
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    show(result, quietLine('Halving the journal …'));
    try {
      if (!await isThere(size)) {
        show(result, h('p', {}, `Memory ${wanted.value} is not among the first ${HITS} answers now.`));
        return;
      }
      let [low, high, steps] = [Math.max(0, Number(wanted.value) - 1), size, 1];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        steps += 1;
        if (await isThere(middle)) high = middle;
        else low = middle;
      }
      const [entry] = (await get('/api/journal', { from: high, limit: 1 }, signal)).entries;
      show(result, h('p', {}, 'It appeared with ', h('a', { href: `/journal/${high}` }, `entry ${count(high)}`), ` (${entry.kind.replaceAll('_', ' ')} by ${entry.by}, `, when(entry.at), `), found in ${counted(steps, 'step')}: `, h('b', {}, entry.summary)));
    } catch (error) {
      show(result, problem(error));
    }
  };
  return h('details', { class: 'card' }, h('summary', {}, 'Which write made this answer appear?'),
    h('form', { class: 'fields', onsubmit: run }, h('label', { for: 'bisect-question' }, 'The question'), question, h('label', { for: 'bisect-memory' }, 'The memory, by its number'), wanted,
      h('p', { class: 'actions' }, h('button', { class: 'button primary', type: 'submit' }, 'Find it'))), result);
}
