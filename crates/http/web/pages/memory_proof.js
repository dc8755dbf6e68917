// The proof of a memory: fetched as a file, checked here by code of its own, and compared with a root that was pinned.
//
// What must stay true: the word "holds" is shown only after lib/proof.js recomputed the root from the file alone and the
// text it proves is the text on this page. The server's opinion is not asked.

import { get } from '../lib/api.js';
import { button, h, quietLine, show } from '../lib/dom.js';
import { card, details, problem, skeleton, when } from '../lib/parts.js';
import { check, fromBase64 } from '../lib/proof.js';
import { keep, recall } from '../lib/state.js';
import { bytes, count, shortRoot } from '../lib/text.js';

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
export function proofCard(memory, signal) {
  const result = h('div', { 'aria-live': 'polite' }, h('p', { class: 'quiet' },
    'A proof is a file that convinces somebody who has nothing but a 32-byte root. This page checks it by itself, without trusting the server.'));
  const look = button('small', () => void run(memory, result, signal), 'Check here');
  return card('Proof', result, { aside: look });
}

/**
 * @param {WholeMemory} memory
 * @param {HTMLElement} place
 * @param {AbortSignal} signal
 */
async function run(memory, place, signal) {
  show(place, skeleton(2));
  try {
    const answer = await get(`/api/observations/${memory.id}/proof`, {}, signal);
    const file = fromBase64(answer.proof);
    const started = performance.now();
    const checked = await check(file);
    const took = performance.now() - started;
    show(place, verdict(memory, checked), details([
      ['Says', checked.shown ? checked.title : 'nothing: the text was erased'], ['Version', String(checked.version)],
      ['Written', when(new Date(checked.created).toISOString())], ['By', checked.by],
      ['Root', h('code', { title: checked.root }, shortRoot(checked.root))], ['Entries', count(checked.size)],
      ['File', `${bytes(file.length)}, checked in ${took.toFixed(1)} ms`],
    ]), pin(checked.root, checked.size), h('div', { class: 'actions' },
      h('a', { class: 'button small', download: `memory-${memory.id}.proof`, href: URL.createObjectURL(new Blob([file], { type: 'application/octet-stream' })) }, 'Download the file')));
  } catch (error) {
    show(place, problem(error));
  }
}

/**
 * @param {WholeMemory} memory
 * @param {import('../lib/proof.js').Checked} checked
 */
function verdict(memory, checked) {
  const isThis = checked.claim === 'memory' && checked.id === memory.id && checked.version === memory.latest;
  const text = memory.version !== memory.latest || !checked.shown || (checked.title === memory.title && checked.content === memory.content);
  if (isThis && text) return h('p', { class: 'verdict good' }, 'It holds: every hash leads to the root.');
  return h('p', { class: 'verdict bad', role: 'alert' }, isThis ? 'The proof holds, but for another text than this page shows.' : 'The proof holds, but it is about another memory or version.');
}

/**
 * The first root that was seen is kept on this machine, so that a later one can be held against it.
 * @param {string} root
 * @param {number} size
 */
function pin(root, size) {
  const [known, at] = recall('root').split(' ');
  if (!known) {
    return quietLine('No root is pinned in this browser. ', h('button', {
      class: 'link', onclick: (event) => {
        keep('root', `${root} ${size}`);
        event.target.replaceWith('Pinned.');
      },
    }, 'Pin this one'));
  }
  if (known === root) return h('p', { class: 'fine' }, 'The root is the one pinned in this browser.');
  const changed = size > Number(at) ? `The pinned root is of ${count(Number(at))} entries; ${count(size - Number(at))} came since.` : 'The pinned root is another one, of as many or more entries: something is wrong, or it is another home.';
  return h('p', { class: size > Number(at) ? 'quiet' : 'verdict bad' }, changed, ' ', h('button', {
    class: 'link', onclick: (event) => {
      keep('root', `${root} ${size}`);
      event.target.replaceWith('Pinned.');
    },
  }, 'Pin this one instead'));
}
