// Graph: the neighbourhood of one memory. Never more than NODES_MAX nodes; the same memory gives the same picture.

import { get } from '../lib/api.js';
import { h, map, s } from '../lib/dom.js';
import { layout } from '../lib/layout.js';
import { empty, heading, memoryRow, skeleton } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { counted, words } from '../lib/text.js';

/** @typedef {import('../lib/shapes.js').GraphNode} GraphNode */

const NODES_MAX = 120;
/** Letters of a label; where many stand close together, fewer. */
const LABEL_MAX = 42;
const LABEL_CLOSE = 26;
const CLOSE = 9;
/** Entries that are looked at for the last relation. */
const LATELY = 500;

/** @param {Visit} visit */
export async function open({ parts, query, signal }) {
  const root = Number(parts[1]);
  if (!root) return choose(signal);
  const depth = Math.min(4, Number(query.get('depth')) || 2);
  const answer = await get(`/api/graph/${root}`, { depth }, signal);
  const nodes = new Map([answer.start, ...answer.nodes].map((/** @type {GraphNode} */ node) => [node.id, node]));
  const { places, radius, leftOut } = layout(root, answer.edges.map((/** @type {Edge} */ edge) => ({ from: edge.from_obs_id, to: edge.to_obs_id })), NODES_MAX);
  const at = new Map(places.map((place) => [place.id, place]));
  const size = radius + 110;
  // A narrow screen gets a square: the picture is larger there, and labels at the sides may touch the edge.
  const wide = innerWidth < 700 ? 1 : 1.35;
  const lines = answer.edges.map((/** @type {Edge} */ edge) => {
    const from = at.get(edge.from_obs_id);
    const to = at.get(edge.to_obs_id);
    return from && to && [s('line', { class: 'edge', x1: from.x, y1: from.y, x2: to.x, y2: to.y, 'marker-end': 'url(#arrow)' }),
      s('text', { class: 'edge-name', x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 - 4 }, words(edge.relation_type))];
  });
  const most = innerWidth < 700 || places.length > CLOSE ? LABEL_CLOSE : LABEL_MAX;
  const dots = places.map((place) => {
    const node = nodes.get(place.id);
    const title = (node?.title ?? `#${place.id}`).replaceAll('`', '');
    const label = title.length > most ? `${title.slice(0, most).trimEnd()}…` : title;
    return s('a', { href: `/m/${place.id}`, class: `t-${node?.memory_type ?? 'Fact'} ${place.id === root ? 'root' : ''}` },
      s('title', {}, title), s('circle', { cx: place.x, cy: place.y, r: place.id === root ? 13 : 9 }), s('text', { x: place.x, y: place.y + (place.y < -1 ? -16 : place.id === root ? 30 : 25) }, label));
  });
  return [
    heading('Graph', { sub: [`Around `, h('a', { href: `/m/${root}` }, answer.start.title), `: ${counted(answer.nodes.length, 'memory', 'memories')}, ${counted(answer.edges.length, 'relation')}${answer.capped || leftOut > 0 ? ', and more that is not shown' : ''}`],
      actions: h('select', { 'aria-label': 'How far', onchange: (event) => go(`/graph/${root}?depth=${event.target.value}`) },
        [1, 2, 3, 4].map((hops) => h('option', { value: hops, selected: hops === depth }, `${counted(hops, 'step')} away`))) }),
    answer.edges.length === 0 ? empty('It stands alone', 'Relate it to another memory on its page.', h('a', { class: 'button', href: `/m/${root}` }, 'Open it'))
      : s('svg', { class: 'graph', viewBox: `${-size * wide} ${-size} ${size * wide * 2} ${size * 2}`, role: 'group', 'aria-label': 'Graph of memories' },
        s('defs', {}, s('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 19, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0 1 7 4 0 7z', class: 'arrow' }))), lines, dots),
    answer.nodes.length > 0 && h('details', { class: 'card graph-list' }, h('summary', {}, 'The same as a list'), h('ul', { class: 'rows' }, answer.nodes.map((/** @type {GraphNode} */ node) => h('li', {}, memoryRow(node, { href: `/graph/${node.id}` }))))),
  ];
}

/**
 * Without a root: around what was related most lately, or the newest memories to begin from.
 * @param {AbortSignal} signal
 */
async function choose(signal) {
  const { entries } = await get('/api/activity', { limit: LATELY }, signal).catch(() => ({ entries: [] }));
  /** @type {Map<number, number>} */
  const degrees = new Map();
  for (const entry of entries.filter((/** @type {any} */ each) => each.kind === 'add_edge')) {
    for (const id of [entry.memory_id, entry.other?.id]) if (id) degrees.set(id, (degrees.get(id) ?? 0) + 1);
  }
  const [busiest] = [...degrees].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  if (busiest) {
    go(`/graph/${busiest[0]}`, { replace: true });
    return [heading('Graph'), skeleton(6)];
  }
  const newest = await get('/api/observations', { project: project(), limit: 20, preview: 160 }, signal);
  return [heading('Graph', { sub: 'Nothing was related lately. Choose a memory to begin from.' }),
    newest.length === 0 ? empty('Nothing to connect yet', 'Relations appear when there are memories.')
      : h('div', { class: 'card list-card' }, h('ul', {}, map(newest, (memory) => h('li', {}, memoryRow(memory, { href: `/graph/${memory.id}` })))))];
}
