// The shell: navigation, search box, project, colours and keys around whatever page is open.

import { ApiError, get, isCancelled, onSignedOut } from './lib/api.js';
import { showHelp } from './lib/dialog.js';
import { add, byId, h, icon, map, quiet, show } from './lib/dom.js';
import { setPageKeys, startKeys } from './lib/keys.js';
import { commandLine, heading, problem, skeleton } from './lib/parts.js';
import { go, reload, startRouter } from './lib/router.js';
import { keep, project, recall } from './lib/state.js';
import { undoLast } from './lib/toast.js';

/** @typedef {{path: string, title: string, icon: string, file: string, also?: string[]}} PageEntry */

/** @type {[string, PageEntry[]][]} */
const PAGES = [
  ['', [
    { path: '/', title: 'Home', icon: 'home', file: 'home' },
    { path: '/memories', title: 'Memories', icon: 'memories', file: 'memories', also: ['search', 'm', 'new'] },
    { path: '/live', title: 'Live', icon: 'live', file: 'live' },
    { path: '/chat', title: 'Chat', icon: 'chat', file: 'chat' },
    { path: '/ask', title: 'Ask', icon: 'help', file: 'ask' },
  ]],
  ['Agents', [
    { path: '/context', title: 'What agents see', icon: 'context', file: 'context' },
    { path: '/sessions', title: 'Sessions', icon: 'sessions', file: 'sessions' },
    { path: '/past', title: 'History', icon: 'past', file: 'past' },
    { path: '/told', title: 'Who was told', icon: 'told', file: 'told' },
    { path: '/timeline', title: 'Timeline', icon: 'timeline', file: 'timeline' },
  ]],
  ['Knowledge', [
    { path: '/projects', title: 'Projects', icon: 'projects', file: 'projects' },
    { path: '/entities', title: 'Entities', icon: 'entities', file: 'entities' },
    { path: '/graph', title: 'Graph', icon: 'graph', file: 'graph' },
    { path: '/lab', title: 'Search lab', icon: 'lab', file: 'lab' },
    { path: '/journal', title: 'Journal', icon: 'journal', file: 'journal' },
  ]],
  ['Upkeep', [
    { path: '/mind', title: 'Mind', icon: 'mind', file: 'mind' },
    { path: '/audit', title: 'Audit', icon: 'audit', file: 'audit' },
    { path: '/runs', title: 'Runs', icon: 'runs', file: 'runs', also: ['talents'] },
    { path: '/budget', title: 'Budget', icon: 'budget', file: 'budget' },
  ]],
  ['System', [
    { path: '/access', title: 'Access', icon: 'access', file: 'access' },
    { path: '/settings', title: 'Settings', icon: 'settings', file: 'settings' },
    { path: '/log', title: 'Log', icon: 'log', file: 'log' },
    { path: '/transfer', title: 'Import, export', icon: 'transfer', file: 'transfer' },
    { path: '/docs', title: 'API', icon: 'api', file: 'reference' },
  ]],
];
/** First words of addresses that a page of another name shows. @type {{[word: string]: string}} */
const OTHERS = { search: 'memories', m: 'memory', new: 'edit', talents: 'talent' };

const main = byId('main');
const search = /** @type {HTMLInputElement} */ (byId('search'));

/** @param {Visit} visit */
async function open(visit) {
  const word = visit.parts[0] ?? '';
  const entry = PAGES.flatMap(([, entries]) => entries).find(({ path }) => path.slice(1) === word);
  const isEdit = word === 'm' && visit.parts[2] === 'edit';
  const file = isEdit ? 'edit' : OTHERS[word] ?? entry?.file;
  for (const link of byId('nav').querySelectorAll('a')) {
    const here = link.pathname.slice(1) === word || (word !== '' && (link.dataset.also ?? '').split(' ').includes(word));
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  byId('side').classList.remove('open');
  byId('menu').setAttribute('aria-expanded', 'false');
  if (document.activeElement !== search) search.value = word === 'search' ? visit.query.get('q') ?? '' : '';
  setPageKeys({});
  if (!file) {
    show(main, heading('Not found'), problem(new Error(`There is no page at ${visit.path}.`)));
    return;
  }
  const waiting = setTimeout(() => show(main, skeleton(6)), 150);
  try {
    const page = await import(`./pages/${file}.js`);
    const content = await page.open(visit);
    clearTimeout(waiting);
    if (visit.signal.aborted) return;
    if (byId('status').querySelector('.bad')) void drawStatus();
    show(main, content);
    if (!typingSearch()) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  } catch (error) {
    clearTimeout(waiting);
    void drawStatus();
    // Who is not let in has been told so already.
    const refused = error instanceof ApiError && error.status === 401;
    if (!refused && !isCancelled(error) && !visit.signal.aborted) show(main, heading(/** @type {any} */ (error).status === 404 ? 'Not found' : 'Something went wrong'), problem(error));
  }
}

function typingSearch() {
  return document.activeElement === search;
}

function drawNavigation() {
  for (const [group, entries] of PAGES) {
    const name = group ? `nav-${group.toLowerCase()}` : null;
    add(byId('nav'), [
      group && h('h2', { id: name }, group),
      h('ul', { 'aria-labelledby': name, 'aria-label': group ? null : 'Start' }, entries.map((entry) => h('li', {},
        h('a', { href: entry.path, 'data-also': (entry.also ?? []).join(' ') }, icon(entry.icon), h('span', {}, entry.title))))),
    ]);
  }
  show(byId('menu'), icon('menu')).addEventListener('click', () => {
    const isOpen = byId('side').classList.toggle('open');
    byId('menu').setAttribute('aria-expanded', String(isOpen));
  });
  main.addEventListener('click', () => byId('side').classList.remove('open'));
  byId('new').prepend(icon('plus'));
  show(byId('help'), icon('help')).addEventListener('click', showHelp);
}

function drawTheme() {
  const dark = () => (recall('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const paint = () => {
    if (recall('theme')) document.documentElement.dataset.theme = recall('theme');
    show(byId('theme'), icon(dark() ? 'sun' : 'moon'));
  };
  const turn = () => {
    keep('theme', dark() ? 'light' : 'dark');
    paint();
  };
  paint();
  byId('theme').addEventListener('click', turn);
  return turn;
}

function drawSearch() {
  byId('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    go(`/search?q=${encodeURIComponent(search.value)}`, { replace: location.pathname === '/search' });
    search.blur();
    main.focus();
  });
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    // One step for the back button, however many letters are typed.
    waiting = window.setTimeout(() => {
      const replace = location.pathname === '/search';
      if (search.value.trim()) go(`/search?q=${encodeURIComponent(search.value)}`, { replace });
      else if (replace) go('/memories', { replace: true });
    }, 30);
  });
}

/** The projects to choose from, newest first; done once, and again when somebody merged or saved. */
async function drawProjects() {
  const box = /** @type {HTMLSelectElement} */ (byId('project'));
  box.addEventListener('change', () => {
    keep('project', box.value);
    reload();
  });
  try {
    const { projects } = await get('/api/projects');
    const names = map(projects, (each) => each.name).filter(Boolean);
    if (project() && !names.includes(project())) names.unshift(project());
    add(box, names.map((/** @type {string} */ name) => h('option', { value: name }, name)));
    box.value = project();
  } catch {
    // Who may not list projects still sees all of what may be seen.
  }
}

async function drawStatus() {
  try {
    const health = await get('/health');
    show(byId('status'), h('span', { class: 'dot good' }), `Cortex ${health.version}`, quiet('on this machine'));
  } catch {
    show(byId('status'), h('span', { class: 'dot bad' }), 'not reachable');
  }
}

onSignedOut(() => {
  show(main, h('div', { class: 'empty signed-out' }, h('h1', {}, 'Open this page with a link of your own'),
    h('p', {}, 'It shows what your agents remember, so it asks who looks. In a terminal:'), commandLine('cortex open')));
  document.body.classList.add('signed-out');
});

drawNavigation();
const turnColours = drawTheme();
drawSearch();
startKeys({
  '/': () => search.focus(), n: () => go('/new'), '?': showHelp, u: undoLast, t: turnColours,
  'g h': () => go('/'), 'g m': () => go('/memories'), 'g l': () => go('/live'), 'g c': () => go('/context'),
  'g t': () => go('/timeline'), 'g p': () => go('/past'), 'g a': () => go('/audit'),
});
startRouter(open);
void drawProjects();
void drawStatus();
