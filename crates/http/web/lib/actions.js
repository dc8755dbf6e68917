// Changes of memories. Each is one operation of the API, whose answer says how it is taken back.

import { send } from './api.js';
import { counted } from './text.js';
import { fail, tell } from './toast.js';

/** @typedef {'pin' | 'unpin' | 'archive' | 'forget' | 'restore' | 'add_tag' | 'remove_tag' | 'move'} Action */

/** @type {{[action in Action]: string}} */
const DONE = { pin: 'pinned', unpin: 'unpinned', archive: 'archived', forget: 'forgotten', restore: 'brought back', add_tag: 'tagged', remove_tag: 'untagged', move: 'moved' };
/** What one request takes. */
const MANY_MAX = 1_000;

/**
 * Does it to all of them; those that are refused are named, and the others stay done.
 * @param {Action} action
 * @param {{id: number}[]} memories
 * @param {() => void} afterwards called when something changed, also by undoing
 * @param {string} [value] the tag or the project
 */
export async function act(action, memories, afterwards, value) {
  /** @type {any[]} */
  const undo = [];
  let changed = 0;
  try {
    for (let start = 0; start < memories.length; start += MANY_MAX) {
      const ids = memories.slice(start, start + MANY_MAX).map(({ id }) => id);
      const answer = await send('POST', '/api/observations/bulk', { action, ids, ...(value === undefined ? {} : { value }), reason: 'by hand, on the page' });
      changed += answer.changed;
      undo.push(...answer.undo);
      for (const { id, error } of answer.refused.slice(0, 3)) fail(new Error(`Memory ${id}: ${error.message ?? error.code}`));
    }
  } catch (error) {
    fail(error);
  }
  if (changed === 0) return;
  const words = memories.length === 1 ? `Memory ${memories[0]?.id} ${DONE[action]}.` : `${counted(changed, 'memory', 'memories')} ${DONE[action]}.`;
  tell(words, async () => {
    for (const request of undo) await send('POST', '/api/observations/bulk', request);
  }, afterwards);
  afterwards();
}
