// Told: which memories went to which agent, and on which question. Kept while the daemon runs.

import { get } from '../lib/api.js';
import { button, h, map, pill, quiet, show } from '../lib/dom.js';
import { TOLD_BY, who } from '../lib/feed.js';
import { empty, heading, when } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { bare, count, counted } from '../lib/text.js';

const PAGE = 100;
/** Memories of one telling in sight before somebody asks for all. */
const NAMED = 5;

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const by = query.get('by') ?? '';
  const memory = query.get('memory') ?? '';
  const { tellings, newest } = await get('/api/tellings', { by, memory_id: memory, limit: PAGE }, signal);
  const agents = [...new Set(map(tellings, (telling) => telling.by))].sort();
  const about = memory ? [' of ', h('a', { href: `/m/${memory}` }, `memory ${memory}`)] : '';
  return [
    heading('Who was told what', {
      sub: [`${counted(newest, 'answer')} to agents since Cortex was started`, about],
      actions: agents.length > 1 || by ? h('select', { 'aria-label': 'Agent', onchange: (event) => go(`/told?by=${encodeURIComponent(event.target.value)}`) },
        h('option', { value: '' }, 'Every agent'), agents.map((agent) => h('option', { value: agent, selected: agent === by }, agent))) : null,
    }),
    tellings.length === 0
      ? empty('Nobody was told yet', 'When an agent searches, opens a memory or is briefed, you see its question here, and the memories it got.')
      : h('div', { class: 'events' }, tellings.map(tellingCard)),
  ];
}

/** @param {any} telling */
export function tellingCard(telling) {
  const list = h('ul', { class: 'told' });
  const draw = (/** @type {number} */ most) => show(list, telling.memories.slice(0, most).map((/** @type {any} */ memory) => h('li', {}, h('a', { href: `/m/${memory.id}` }, bare(memory.title) || `#${memory.id}`))),
    telling.memories.length > most && h('li', {}, button('link', () => draw(telling.memories.length), `${count(telling.memories.length - most)} more`)));
  draw(NAMED);
  return h('div', { class: 'event' }, h('header', {}, when(telling.at), h('b', {}, who(telling.by)), h('span', {}, TOLD_BY[telling.operation] ?? telling.operation),
    telling.question && h('q', {}, telling.question), telling.project && pill('', telling.project), quiet(counted(telling.total, 'memory', 'memories'))), list);
}
