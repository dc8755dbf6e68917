// Sessions: the frames of agents' work. `/sessions` lists them, `/sessions/ID` shows one with what was asked and saved.

import { get, getPage } from '../lib/api.js';
import { h, pill, quietLine } from '../lib/dom.js';
import { longList } from '../lib/list.js';
import { card, details, empty, heading, memoryRow, when } from '../lib/parts.js';
import { markdown } from '../lib/markdown_dom.js';
import { project } from '../lib/state.js';
import { counted } from '../lib/text.js';
import { span } from '../lib/time.js';

/** @typedef {import('../lib/shapes.js').Session} Session */

const PAGE = 100;
const MEMORIES_MAX = 200;

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  if (parts[1]) return one(parts.slice(1).join('/'), signal);
  const first = await getPage('/api/sessions', { project: project(), limit: PAGE }, signal);
  const load = async (/** @type {number} */ offset, /** @type {number} */ limit) => (await getPage('/api/sessions', { project: project(), offset, limit }, signal)).data;
  return [
    heading('Sessions', { sub: counted(first.total, 'session') }),
    first.total === 0 ? empty('No session yet', 'An agent that is connected begins one by itself.')
      : h('div', { class: 'card list-card' }, longList({ label: 'Sessions', total: first.total, signal, row: sessionRow, load, first: first.data }).element),
  ];
}

/** @param {Session} session */
function sessionRow(session) {
  const length = session.ended_at ? span(Date.parse(session.ended_at) - Date.parse(session.started_at)) : '';
  return h('a', { class: 'row', href: `/sessions/${encodeURIComponent(session.id)}` },
    h('span', { class: 'row-top' }, h('span', { class: `pill ${session.ended_at ? '' : 'good'}` }, session.ended_at ? 'ended' : 'at work'), h('span', { class: 'row-title', title: session.id }, session.agent || 'An agent', session.project && ` in ${session.project}`)),
    h('span', { class: 'row-sub' }, h('span', { class: 'row-text' }, session.summary || session.directory)),
    h('span', { class: 'row-meta' }, h('span', {}, counted(session.memories, 'memory', 'memories')), length && h('span', {}, `lasted ${length}`), when(session.started_at)));
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function one(id, signal) {
  const [session, saved, asked] = await Promise.all([
    get(`/api/sessions/${encodeURIComponent(id)}`, {}, signal),
    getPage('/api/observations', { session_id: id, limit: MEMORIES_MAX, preview: 200 }, signal),
    getPage('/api/prompts', { session_id: id, limit: MEMORIES_MAX }, signal),
  ]);
  const steps = [
    ...saved.data.map((/** @type {any} */ memory) => ({ at: memory.created_at, node: memoryRow(memory) })),
    ...asked.data.map((/** @type {any} */ prompt) => ({ at: prompt.created_at, node: h('div', { class: 'row' }, h('span', { class: 'row-top' },
      pill('accent', 'asked'), h('span', { class: 'row-title' }, prompt.content)), h('span', { class: 'row-meta' }, when(prompt.created_at))) })),
  ].sort((a, b) => a.at.localeCompare(b.at));
  const hidden = saved.total + asked.total - steps.length;
  return [
    heading(`${session.agent || 'An agent'} in ${session.project || 'no project'}`, { sub: ['Session, ', when(session.started_at), session.ended_at ? '' : ', still at work'] }),
    h('div', { class: 'columns' },
      h('div', {}, card('What happened', [steps.length > 0 ? h('ol', { class: 'rows' }, steps.map((step) => h('li', {}, step.node))) : empty('Nothing was saved', 'The session has neither prompts nor memories.'),
        hidden > 0 && quietLine(`${counted(hidden, 'more')} are not shown. `, h('a', { href: `/memories?session=${encodeURIComponent(id)}` }, 'All memories of it'))])),
      h('div', {}, card('Details', details([
        ['Session', h('code', { class: 'wrap' }, session.id)], ['Agent', session.agent], ['Project', session.project], ['Folder', h('code', { class: 'wrap' }, session.directory)], ['Began', when(session.started_at)],
        ['Ended', session.ended_at ? when(session.ended_at) : 'still at work'], ['Memories', String(session.memories)], ['Prompts', String(asked.total)]])),
      session.summary && card('What it came to', markdown(session.summary)))),
  ];
}
