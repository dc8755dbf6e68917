// A list of any length of which only what is in sight is built. Rows have one height; pages are fetched as they come
// near, each once, and a row that has the focus is never taken away.

import { getPage } from './api.js';
import { h, show } from './dom.js';
import { fail } from './toast.js';
import { isCancelled } from './api.js';

const PAGE = 100;
const OVERSCAN = 8;

/**
 * @param {{label: string, total: number, signal: AbortSignal, row: (item: any, index: number) => HTMLElement,
 *   load: (offset: number, limit: number) => Promise<any[]>, first?: any[]}} options
 */
export function longList({ label, total, signal, row, load, first = [] }) {
  const height = matchMedia('(max-width: 700px)').matches ? 84 : 64;
  const box = h('div', { class: 'long-list', role: 'list', 'aria-label': label });
  box.style.setProperty('height', `${total * height}px`);
  /** @type {Map<number, any[]>} */
  const pages = new Map(first.length > 0 ? [[0, first]] : []);
  /** @type {Set<number>} */
  const asked = new Set(first.length > 0 ? [0] : []);
  /** @type {Map<number, {element: HTMLElement, known: boolean}>} */
  const shown = new Map();

  const itemAt = (/** @type {number} */ index) => pages.get(Math.floor(index / PAGE))?.[index % PAGE];

  const need = async (/** @type {number} */ page) => {
    if (asked.has(page)) return;
    asked.add(page);
    try {
      pages.set(page, await load(page * PAGE, PAGE));
      draw();
    } catch (error) {
      asked.delete(page);
      if (!isCancelled(error)) fail(error);
    }
  };

  const draw = () => {
    if (!box.isConnected) return;
    const top = -box.getBoundingClientRect().top;
    const start = Math.max(0, Math.floor(top / height) - OVERSCAN);
    const end = Math.min(total, Math.ceil((top + innerHeight) / height) + OVERSCAN);
    for (const [index, { element }] of shown) {
      if ((index < start || index >= end) && !element.contains(document.activeElement)) {
        element.remove();
        shown.delete(index);
      }
    }
    for (let index = start; index < end; index += 1) {
      const item = itemAt(index);
      if (item === undefined) void need(Math.floor(index / PAGE));
      const old = shown.get(index);
      if (old?.known || (old && item === undefined)) continue;
      const element = h('div', { class: 'slot', role: 'listitem', 'aria-posinset': index + 1, 'aria-setsize': total, 'data-index': index },
        item === undefined ? h('span', { class: 'bone' }) : row(item, index));
      element.style.setProperty('transform', `translateY(${index * height}px)`);
      element.style.setProperty('height', `${height}px`);
      old?.element.remove();
      shown.set(index, { element, known: item !== undefined });
      box.append(element);
    }
  };

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
  addEventListener('scroll', soon, { passive: true, signal });
  addEventListener('resize', soon, { signal });
  const begin = () => {
    if (box.isConnected) draw();
    else if (!signal.aborted) requestAnimationFrame(begin);
  };
  requestAnimationFrame(begin);
  return { element: box, redraw: () => { shown.clear(); show(box); draw(); }, itemAt };
}

/**
 * Loads pages of memories; oldest first by counting from the end.
 * @param {any} query
 * @param {number} total
 * @param {boolean} oldest
 * @param {AbortSignal} signal
 */
export function memoryPages(query, total, oldest, signal) {
  return async (/** @type {number} */ offset, /** @type {number} */ limit) => {
    if (!oldest) return (await getPage('/api/observations', { ...query, offset, limit }, signal)).data;
    const start = Math.max(0, total - offset - limit);
    const size = total - offset - start;
    const { data } = await getPage('/api/observations', { ...query, offset: start, limit: size }, signal);
    return data.reverse();
  };
}
