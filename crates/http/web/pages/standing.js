// Pages: questions that stand, what the memory answers to each, and what it answered before.

import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { button, h, input, map, quiet, quietLine } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { empty, table, when } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { counted } from '../lib/text.js';
import { attempt, fail, tell } from '../lib/toast.js';
import { diffView } from './memory_versions.js';

/** @param {AbortSignal} signal */
export async function standingPages(signal) {
  const { pages } = await get('/api/pages', {}, signal);
  const name = input({ type: 'text', 'aria-label': 'Name', placeholder: 'A name, such as payments', maxlength: 48, required: true, autocomplete: 'off' });
  const question = input({ type: 'text', 'aria-label': 'Question', placeholder: 'What do we know about the payment service?', maxlength: 500, required: true, autocomplete: 'off' });
  const add = () => attempt(async () => {
    const page = await send('POST', '/api/pages', { name: name.value, question: question.value });
    tell(`${page.name} is kept current from now on.`, () => send('DELETE', `/api/pages/${page.name}`), reload);
    reload();
  });
  return [
    pages.length === 0 ? empty('None yet', 'The memory answers such a question on a page of its own, with the ids it comes from, and again when something changes.')
      : table('Pages', ['Page', 'Question', 'Project', 'Version', 'Written', ''], map(pages, (page) => [
        button('link', () => void show(page.name), page.name), page.question, page.project || 'all', String(page.version), page.generated_at ? when(page.generated_at) : '',
        button('small', () => void remove(page.name), 'Remove')])),
    h('form', { class: 'say-row', onsubmit: (event) => { event.preventDefault(); void add(); } }, name, question, h('button', { class: 'button', type: 'submit' }, 'Add page')),
  ];
}

/** @param {string} name */
async function show(name) {
  try {
    const path = `/api/pages/${name}`;
    const [page, history] = await Promise.all([get(path), get(`${path}/history`)]);
    const versions = map(history.versions, (each, index) => {
      const body = h('div');
      const compare = async () => {
        if (body.childElementCount > 0) return;
        const before = history.versions[index + 1];
        const [now, old] = await Promise.all([get(path, { version: each.version }), before ? get(path, { version: before.version }) : { text: '' }]);
        body.append(diffView(old.text, now.text));
      };
      return h('details', { class: 'operation', ontoggle: () => void compare().catch(fail) },
        h('summary', {}, `Version ${each.version}`, quiet(` by ${each.made_by}, ${each.changes.added.length} new, ${each.changes.removed.length} gone, ${each.changes.revised.length} revised, `, when(each.generated_at))), body);
    });
    openDialog(name, [markdown(page.text), quietLine(`By ${page.made_by}, from ${counted(page.cited.length, 'memory', 'memories')}, ${page.tokens} of ${page.tokens_max} tokens.`), versions], { wide: true });
  } catch (error) {
    fail(error);
  }
}

/** @param {string} name */
async function remove(name) {
  await attempt(async () => {
    await send('DELETE', `/api/pages/${name}`);
    tell(`${name} was removed.`, () => send('POST', `/api/pages/${name}/restore`), reload);
    reload();
  });
}
