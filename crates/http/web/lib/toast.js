// Short words about what happened, with a way back.
//
// What must stay true: a change that can be undone is undone by the same list of operations wherever the reader is, also
// by the key `u`, until the next change.

import { toldOf } from './api.js';
import { add, button, byId, h, icon } from './dom.js';

const SHOWN_MS = 9_000;

/** @type {{undo: () => Promise<void>, element: HTMLElement} | null} */
let last = null;

/**
 * @param {string} words
 * @param {(() => Promise<unknown>) | null} [undo] takes back what was done
 * @param {() => void} [afterwards] called when it was taken back
 */
export function tell(words, undo = null, afterwards = () => {}) {
  const element = h('div', { class: 'toast' }, icon('check'), h('span', {}, words));
  const close = () => element.remove();
  if (undo) {
    const entry = { element, undo: async () => {
      close();
      if (last === entry) last = null;
      try {
        await undo();
        tell('Taken back.');
        afterwards();
      } catch (error) {
        fail(error);
      }
    } };
    last = entry;
    add(element, button('link', entry.undo, 'Undo', h('kbd', {}, 'u')));
  }
  put(element, close);
}

/** @param {unknown} error */
export function fail(error) {
  const hint = /** @type {any} */ (error)?.hint;
  const words = toldOf(error);
  const element = h('div', { class: 'toast bad', role: 'alert' }, icon('warn'), h('span', {}, words, hint ? ` — ${hint}` : ''));
  put(element, () => element.remove());
}

/** Does it; what goes wrong is said. @param {() => Promise<unknown>} work */
export async function attempt(work) {
  try {
    await work();
  } catch (error) {
    fail(error);
  }
}

/** Takes back the last change, if there is one. */
export function undoLast() {
  if (last) void last.undo();
}

/**
 * @param {HTMLElement} element
 * @param {() => void} close
 */
function put(element, close) {
  add(element, h('button', { class: 'icon-button', 'aria-label': 'Dismiss', onclick: close }, icon('close')));
  const stack = byId('toasts');
  stack.append(element);
  while (stack.childElementCount > 3) stack.firstElementChild?.remove();
  setTimeout(close, SHOWN_MS);
}
