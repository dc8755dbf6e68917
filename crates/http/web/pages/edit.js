// New memory, and the next version of one: Markdown on the left, what it will look like on the right.
//
// What must stay true: an edit names the version it began from. If somebody else wrote meanwhile, nothing is overwritten;
// both texts are shown and the reader decides.

import { ApiError, get, send } from '../lib/api.js';
import { actions, button, h, map, quiet, quietLine, show } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, heading } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { counted, tokens } from '../lib/text.js';
import { fail, tell } from '../lib/toast.js';
import { diffView } from './memory_versions.js';

const KINDS = ['decision', 'bugfix', 'discovery', 'learning', 'rule', 'pattern', 'config', 'architecture', 'goal', 'preference', 'fact', 'identity'];

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  const id = parts[0] === 'm' ? Number.parseInt(parts[1] ?? '', 10) : 0;
  /** @type {WholeMemory | null} */
  const old = id ? await get(`/api/observations/${id}`, { quiet: true }, signal) : null;
  const { projects } = await get('/api/projects', {}, signal).catch(() => ({ projects: [] }));
  const title = field('input', { id: 'title', required: true, maxlength: 500, value: old?.title ?? '', placeholder: 'One line that says it all' });
  const content = field('textarea', { id: 'content', rows: 16, value: old?.content ?? '', placeholder: 'Markdown' });
  const kind = field('input', { id: 'kind', list: 'kinds', value: old?.type ?? 'decision', autocomplete: 'off' });
  const where = field('input', { id: 'where', list: 'projects', value: old?.project ?? project(), autocomplete: 'off' });
  const tags = field('input', { id: 'tags', value: (old?.tags ?? []).join(', '), placeholder: 'with commas between' });
  const preview = h('div', { class: 'preview', 'aria-live': 'off' });
  const cost = h('span', { class: 'quiet' });
  const conflict = h('div');
  const draw = () => {
    show(preview, content.value.trim() ? markdown(content.value) : quietLine('Nothing to show yet.'));
    show(cost, `about ${counted(tokens(title.value + content.value), 'token')}`);
  };
  content.addEventListener('input', draw);
  title.addEventListener('input', draw);
  draw();
  let base = old?.version ?? 0;
  const values = () => ({
    title: title.value.trim(), content: content.value, type: kind.value.trim(), project: where.value.trim(),
    tags: tags.value.split(',').map((tag) => tag.trim()).filter(Boolean),
  });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      if (old) await update(old, base, values());
      else await create(values());
    } catch (error) {
      if (!old || !(error instanceof ApiError) || error.status !== 409) {
        fail(error);
        return;
      }
      const theirs = await get(`/api/observations/${old.id}`, { quiet: true });
      base = theirs.version;
      show(conflict, card(`Somebody wrote version ${theirs.version} meanwhile`, [
        h('p', {}, 'Nothing was overwritten. Minus is theirs, plus is yours.'), diffView(`${theirs.title}\n\n${theirs.content}`, `${title.value}\n\n${content.value}`),
        actions(button('', () => {
          title.value = theirs.title;
          content.value = theirs.content;
          show(conflict);
          draw();
        }, 'Take theirs'), quiet('or change your text and save again: it becomes the next version.'))], { class: 'warn-card' }));
      conflict.scrollIntoView({ block: 'nearest' });
    }
  };
  const form = h('form', { class: 'edit', onsubmit: save, onkeydown: (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save(event);
  } },
  conflict, labelled('Title', title),
  h('div', { class: 'edit-row' }, labelled('Type', kind), labelled('Project', where), labelled('Tags', tags)),
  h('div', { class: 'edit-panes' }, labelled('Text', content), h('div', {}, h('span', { class: 'label' }, 'Preview'), preview)),
  h('datalist', { id: 'kinds' }, KINDS.map((each) => h('option', { value: each }))),
  h('datalist', { id: 'projects' }, map(projects, (each) => h('option', { value: each.name }))),
  actions(h('button', { class: 'button primary', type: 'submit' }, old ? `Save version ${base + 1}` : 'Save'),
    h('a', { class: 'button', href: old ? `/m/${old.id}` : '/memories' }, 'Cancel'), cost, quiet(h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' saves')));
  setTimeout(() => title.focus(), 0);
  return [heading(old ? `Edit #${old.id}` : 'New memory', { sub: 'Secrets are masked, and what stands between <private> and </private> is never stored.' }), form];
}

/** @param {any} values */
async function create(values) {
  const saved = await send('POST', '/api/observations', { ...values, project: values.project || undefined });
  const note = saved.redacted ? ` Taken out: ${saved.redacted}.` : '';
  const isNew = saved.status === 'created';
  tell(`${isNew ? 'Saved as' : 'Already there as'} #${saved.id}.${note}`, isNew ? () => send('DELETE', `/api/observations/${saved.id}`) : null, () => go('/memories'));
  go(`/m/${saved.id}`);
}

/**
 * @param {WholeMemory} old
 * @param {number} base
 * @param {any} values
 */
async function update(old, base, values) {
  const now = await send('PUT', `/api/observations/${old.id}`, { ...values, expected_version: base });
  tell(now.changed ? `Saved as version ${now.version}.` : 'Nothing had to change.', now.changed ? () => send('PUT', `/api/observations/${old.id}`, {
    title: old.title, content: old.content, type: old.type, project: old.project, tags: old.tags, expected_version: now.version,
  }) : null, () => go(`/m/${old.id}`));
  go(`/m/${old.id}`);
}

/**
 * @param {string} tag
 * @param {any} props
 * @returns {HTMLInputElement}
 */
function field(tag, props) {
  return /** @type {HTMLInputElement} */ (h(tag, { ...props, spellcheck: 'true' }));
}

/**
 * @param {string} words
 * @param {HTMLElement} input
 */
function labelled(words, input) {
  return h('div', { class: 'field' }, h('label', { class: 'label', for: input.id }, words), input);
}
