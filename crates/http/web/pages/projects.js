// Projects: what there is about each, its other names, and where to look for two names of one.

import { get } from '../lib/api.js';
import { actions, button, h, map, quietLine } from '../lib/dom.js';
import { commandLine, empty, heading, when } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { keep } from '../lib/state.js';
import { count, counted } from '../lib/text.js';

/** @param {Visit} visit */
export async function open({ signal }) {
  const answer = await get('/api/projects', {}, signal);
  const look = (/** @type {string} */ name, /** @type {string} */ path) => {
    keep('project', name);
    const box = /** @type {HTMLSelectElement | null} */ (document.querySelector('#project'));
    if (box) box.value = name;
    go(path);
  };
  if (answer.projects.length === 0) return [heading('Projects'), empty('No project yet', 'The first memory that is saved inside a repository makes one.')];
  return [
    heading('Projects', { sub: `${counted(answer.projects.length, 'project')}${answer.capped ? ' and more' : ''}, the latest activity first` }),
    h('div', { class: 'projects-grid' }, map(answer.projects, (each) => h('section', { class: 'card', 'aria-label': each.name || 'no project' },
      h('h2', {}, each.name || 'no project'), h('p', {}, h('span', { class: 'big' }, count(each.memories)), each.memories === 1 ? ' memory' : ' memories'),
      quietLine('last active ', when(each.last_activity)), each.aliases.length > 0 && quietLine('also ', each.aliases.join(', ')),
      each.name && actions(button('small', () => look(each.name, '/memories'), 'Memories'),
        button('small', () => look(each.name, '/context'), 'What agents see'))))),
    h('p', { class: 'quiet note-below' }, 'Two names of one project? The ', h('a', { href: '/audit#projects' }, 'audit'), ' names those that look alike. Merging cannot be taken back from here, so it is a command; this one only counts:'),
    commandLine('cortex projects merge OLD --into NEW --dry-run'),
  ];
}
