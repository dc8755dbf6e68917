// A talent: its text, checked while it is typed and written into the home. A talent of the program stays as it is; a file
// of the same name stands before it and can be taken out again.
//
// What must stay true: what could not be used is not written, and what somebody else wrote meanwhile is not overwritten.

import { ApiError, get, send } from '../lib/api.js';
import { actions, button, h, pill, quiet, quietLine, show } from '../lib/dom.js';
import { card, coded, heading } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { counted } from '../lib/text.js';
import { attempt, fail, tell } from '../lib/toast.js';
import { diffView } from './memory_versions.js';

const CHECK_MS = 350;
const EMPTY = '{\n  "description": "What it does, in one line"\n}\nWhat the model is to do.\n';

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  const name = parts[1] ?? '';
  const path = `/api/talents/${encodeURIComponent(name)}`;
  const known = await get(path, {}, signal).catch((error) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
  /** What the file of the home said when the edit began. @type {string | undefined} */
  let before = known?.source === 'user' ? known.text : undefined;
  const box = /** @type {HTMLTextAreaElement} */ (h('textarea', { id: 'talent-text', rows: 26, spellcheck: 'false', value: known?.text ?? EMPTY }));
  const found = h('div', { 'aria-live': 'polite' });
  const conflict = h('div');
  const put = (/** @type {any} */ edit) => send('PUT', path, edit);
  const check = async () => {
    try {
      draw((await put({ text: box.value, before, dry_run: true })).problems);
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  };
  const draw = (/** @type {any[]} */ problems) => show(found, problems.length === 0 ? quietLine('Nothing is wrong with it.')
    : h('ul', { class: 'changes' }, problems.map((each) => h('li', {}, pill(each.severity === 'error' ? 'bad' : 'warn', `line ${each.line}`), ' ', each.reason))));
  let waiting = 0;
  box.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void check(), CHECK_MS);
  });
  draw(known?.problems ?? []);
  const save = async () => {
    const text = box.value;
    clearTimeout(waiting);
    try {
      const answer = await put({ text, before });
      draw(answer.problems);
      if (!answer.saved) throw new Error(`Not saved: ${counted(answer.problems.length, 'thing is', 'things are')} wrong with it.`);
      const old = before;
      tell(`${name} is saved. Its next run follows it.`, () => put(old === undefined ? { before: text } : { text: old, before: text }), () => (known ? reload() : go('/runs')));
      reload();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) return fail(error);
      const theirs = await get(path).catch(() => null);
      before = theirs?.source === 'user' ? theirs.text : undefined;
      show(conflict, card('Somebody changed it meanwhile', [h('p', {}, 'Nothing was overwritten. Minus is theirs, plus is yours.'), diffView(theirs?.text ?? '', text),
        actions(button('', reload, 'Take theirs'), quiet('or change your text and save again.'))], { class: 'warn-card' }));
      conflict.scrollIntoView({ block: 'nearest' });
    }
  };
  const takeOut = () => attempt(async () => {
    const text = before;
    await put({ before: text });
    tell(known?.is_built_in ? `The ${name} of the program holds again.` : `${name} is gone.`, () => put({ text }), reload);
    if (known?.is_built_in) reload();
    else go('/runs');
  });
  return [
    h('nav', { class: 'crumbs', 'aria-label': 'Where this is' }, h('a', { href: '/runs' }, 'Runs and talents'), ' / ', h('span', {}, name)),
    heading(name, { sub: known === null ? 'There is no talent of this name yet.' : known.source === 'user' ? `A file of this home${known.is_built_in ? ', in place of the one in the program' : ''}.` : 'It is in the program. Saved words become a file of this home, which stands before it.',
      actions: before !== undefined && button('danger', () => void takeOut(), known?.is_built_in ? 'Back to the one in the program' : 'Take it out') }),
    conflict,
    h('div', { class: 'columns' },
      h('form', { class: 'edit', onsubmit: (event) => { event.preventDefault(); void save(); } }, h('label', { class: 'label', for: 'talent-text' }, 'Text'), box, actions(h('button', { class: 'button primary', type: 'submit' }, 'Save'))),
      h('div', {}, card('Check', found), card('How it is read', [quietLine(coded('A head of JSON between `{` and `}`, each alone on its line, says when it runs, with which tools and which model. What follows is told to the model, and may have parts such as `{{ facets }}`.')),
        quietLine(coded('`cortex talent check` checks all of them, also for tools that nobody has.'))]))),
  ];
}
