// The versions of a memory: which there are, what changed from one to the next, and a way back.

import { send } from '../lib/api.js';
import { lines } from '../lib/diff.js';
import { button, h, quiet, quietLine, show } from '../lib/dom.js';
import { card, when } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { attempt, tell } from '../lib/toast.js';

/** @typedef {import('../lib/shapes.js').Version} Version */

/** @param {WholeMemory} memory */
export function versionsCard(memory) {
  if (memory.history.length < 2) return null;
  const view = h('div');
  const versions = [...memory.history].reverse();
  const shown = Math.max(2, memory.version);
  const choose = (/** @type {number} */ number) => {
    const after = memory.history.find((version) => version.version === number);
    const before = memory.history.find((version) => version.version === number - 1);
    if (!after) return;
    show(view, before ? diffView(whole(before), whole(after)) : quietLine('The first version.'),
      number !== memory.latest && !memory.deleted_at && h('div', { class: 'actions' },
        button('small', () => void revert(memory, after), `Make version ${number} the newest again`),
        h('a', { class: 'button small', href: `/m/${memory.id}@${number}` }, 'Read it whole')));
  };
  const list = h('div', { class: 'version-list', role: 'radiogroup', 'aria-label': 'Versions' }, versions.map((version) =>
    h('label', {}, h('input', { type: 'radio', name: 'version', checked: version.version === shown, onchange: () => choose(version.version) }),
      h('span', {}, `Version ${version.version}`), quiet(when(version.created_at), ` by ${version.by}`))));
  choose(shown);
  return card('Versions', h('div', {}, list, view), { aside: quiet('each against the one before') });
}

/** @param {Version} version */
function whole(version) {
  return `${version.title}\n\n${version.content}`;
}

/**
 * A difference as rows: what went is marked with a minus, what came with a plus, not by colour alone.
 * @param {string} before
 * @param {string} after
 */
export function diffView(before, after) {
  const mark = { same: ' ', added: '+', removed: '-' };
  return h('div', { class: 'diff', role: 'region', 'aria-label': 'What changed', tabindex: 0 }, lines(before, after).map((line) =>
    h('div', { class: `diff-line ${line.kind}` }, h('span', { class: 'diff-mark' }, mark[line.kind]),
      h('span', { class: 'diff-text' }, line.words
        ? line.words.map((word) => (word.kind === 'same' ? word.text : h('mark', {}, word.text))) : line.text || ' '))));
}

/**
 * @param {WholeMemory} memory
 * @param {Version} version
 */
async function revert(memory, version) {
  const newest = memory.history.find((each) => each.version === memory.latest);
  await attempt(async () => {
    const now = await send('PUT', `/api/observations/${memory.id}`, { title: version.title, content: version.content, expected_version: memory.latest });
    tell(`Version ${now.version} says what version ${version.version} said.`, newest ? async () => {
      await send('PUT', `/api/observations/${memory.id}`, { title: newest.title, content: newest.content, expected_version: now.version });
    } : null, reload);
    reload();
  });
}
