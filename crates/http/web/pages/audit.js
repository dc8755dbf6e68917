// Audit: which memories need attention, why, and the remedy beside each.

import { act } from '../lib/actions.js';
import { get, send } from '../lib/api.js';
import { h, icon, show } from '../lib/dom.js';
import { card, commandLine, empty, fillIn, heading } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { project } from '../lib/state.js';
import { capital, count, counted, words } from '../lib/text.js';
import { fail, tell } from '../lib/toast.js';

const EXAMPLES = 20;
/** Up to here an audit is done as the page is opened. */
const AT_ONCE_MAX = 2_000;
/** Findings for which putting one away is the remedy: the first one, which is what the example is about. @type {{[problem: string]: ['archive' | 'forget', string]}} */
const REMEDIES = { copied: ['forget', 'Forget'], outdated: ['archive', 'Archive'], prompt: ['forget', 'Forget'], vague: ['forget', 'Forget'], unused: ['archive', 'Archive'] };

/** @param {import('../lib/router.js').Visit} visit */
export async function open({ signal }) {
  const { observations } = await get('/api/stats', {}, signal);
  const place = h('div');
  const look = () => void fillIn(place, () => findings(signal), 5);
  if (observations <= AT_ONCE_MAX) look();
  else show(place, empty(`${counted(observations, 'memory', 'memories')} to look at`, 'They are compared with each other, which takes a while for so many. A project alone is faster: choose one above.', h('button', { class: 'button', type: 'button', onclick: look }, 'Look now')));
  return [heading('Audit', { sub: 'What needs attention, and what to do about it. Looking changes nothing.' }), place];
}

/** @param {AbortSignal} signal */
async function findings(signal) {
  const audit = await get('/api/audit', { project: project(), limit: EXAMPLES }, signal);
  return [
    h('p', { class: 'quiet remedy' }, `${counted(audit.memories, 'memory', 'memories')} looked at${project() ? ` in ${project()}` : ''}, the newest ${count(audit.compared)} also compared by meaning.`),
    audit.findings.length === 0 ? h('div', { class: 'card' }, empty('All is well', 'No copies, contradictions, secrets or leftovers were found.')) : audit.findings.map(findingCard),
  ];
}

/**
 * Says which of two that contradict each other holds: it supersedes the other, which stays readable.
 * @param {number} holds
 * @param {number} falls
 */
async function settle(holds, falls) {
  try {
    const edge = await send('POST', '/api/graph/edges', { from_obs_id: holds, to_obs_id: falls, relation_type: 'supersedes' });
    tell(`#${holds} holds; #${falls} is superseded.`, () => send('DELETE', `/api/graph/edges/${edge.id}`), reload);
    reload();
  } catch (error) {
    fail(error);
  }
}

/** @param {any} finding */
function findingCard(finding) {
  const severe = finding.problem === 'secret' || finding.problem === 'contradicting';
  const remedy = REMEDIES[finding.problem];
  const row = (/** @type {any} */ example) => h('li', { class: 'finding' },
    h('div', {}, h('b', {}, example.title), h('p', { class: 'quiet' }, example.why)),
    h('div', { class: 'actions' }, example.ids.map((/** @type {number} */ id) => h('a', { class: 'button small', href: `/m/${id}` }, `#${id}`)),
      finding.problem === 'contradicting' && example.ids.length === 2 && [[0, 1], [1, 0]].map(([holds, falls]) => h('button', { class: 'button small', type: 'button', onclick: () => void settle(example.ids[holds ?? 0], example.ids[falls ?? 1]) }, `#${example.ids[holds ?? 0]} holds`)),
      remedy && example.ids.length > 0 && h('button', { class: 'button small', type: 'button', onclick: () => void act(remedy[0], [{ id: example.ids[0] }], reload) }, `${remedy[1]} #${example.ids[0]}`)));
  return card(`${capital(words(finding.problem))}: ${count(finding.count)}`, [
    h('p', {}, `${capital(finding.says)}.`), h('p', { class: 'quiet remedy' }, 'What to do: ', finding.remedy.replaceAll('`', '')),
    h('ul', {}, finding.examples.map(row)), finding.problem === 'alike' && commandLine('cortex mind run maintenance --dry-run')],
  { id: finding.problem, class: severe ? 'warn-card' : '', aside: severe && h('span', { class: 'pill bad' }, icon('warn'), ' look first') });
}
