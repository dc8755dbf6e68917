// Changes of memories. Each is one operation of the API, and each says how it is taken back.

import { send } from './api.js';
import { counted } from './text.js';
import { fail, tell } from './toast.js';

/** @typedef {'pin' | 'unpin' | 'archive' | 'forget' | 'restore'} Action */

/** @type {{[action in Action]: {run: (id: number) => Promise<any>, back: Action | null, done: string}}} */
const ACTIONS = {
  pin: { run: (id) => send('PUT', `/api/observations/${id}/pin`), back: 'unpin', done: 'pinned' },
  unpin: { run: (id) => send('DELETE', `/api/observations/${id}/pin`), back: 'pin', done: 'unpinned' },
  archive: { run: (id) => send('POST', `/api/observations/${id}/archive`), back: 'restore', done: 'archived' },
  forget: { run: (id) => send('DELETE', `/api/observations/${id}`), back: 'restore', done: 'forgotten' },
  restore: { run: (id) => send('POST', `/api/observations/${id}/restore`), back: null, done: 'brought back' },
};

/**
 * Does it to all of them, one after the other; those that fail are named and the others stay done.
 * @param {Action} action
 * @param {{id: number, archived?: boolean, deleted_at?: string | undefined}[]} memories
 * @param {() => void} afterwards called when something changed, also by undoing
 */
export async function act(action, memories, afterwards) {
  const { run, back, done } = ACTIONS[action];
  /** @type {typeof memories} */
  const changed = [];
  for (const memory of memories) {
    try {
      await run(memory.id);
      changed.push(memory);
    } catch (error) {
      fail(error);
    }
  }
  if (changed.length === 0) return;
  const words = changed.length === 1 ? `Memory ${changed[0]?.id} ${done}.` : `${counted(changed.length, 'memory', 'memories')} ${done}.`;
  tell(words, async () => {
    for (const memory of changed) {
      // What was restored goes back to where it was: the archive, or forgotten.
      const undo = back ?? (memory.deleted_at ? 'forget' : 'archive');
      await ACTIONS[undo].run(memory.id);
    }
  }, afterwards);
  afterwards();
}
