// Audit: which memories need attention, why, and the remedy beside each.

import { act } from '../lib/actions.js';
import { get, send } from '../lib/api.js';
import { button, h, icon, quietLine, show } from '../lib/dom.js';
import { card, coded, commandLine, empty, fillIn, heading } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { project } from '../lib/state.js';
import { bare, capital, count, counted, problemName } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

const EXAMPLES = 20;
/** Up to here an audit is done as the page is opened. */
const AT_ONCE_MAX = 2_000;
/** Findings for which putting one away is the remedy: the first one, which is what the example is about. @type {{[problem: string]: ['archive' | 'forget', string]}} */
const REMEDIES = { copied: ['forget', 'Forget'], outdated: ['archive', 'Archive'], prompt: ['forget', 'Forget'], vague: ['forget', 'Forget'], unused: ['archive', 'Archive'] };

/** @param {Visit} visit */
export async function open({ signal }) {
  const { observations } = await get('/api/stats', {}, signal);
  const place = h('div');
  const look = () => void fillIn(place, () => findings(signal), 5);
  if (observations <= AT_ONCE_MAX) look();
  else show(place, empty(`${counted(observations, 'memory', 'memories')} to look at`, 'They are compared with each other, which takes a while for so many. A project alone is faster: choose one above.', button('', look, 'Look now')));
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
  await attempt(async () => {
    const edge = await send('POST', '/api/graph/edges', { from_obs_id: holds, to_obs_id: falls, relation_type: 'supersedes' });
    tell(`#${holds} is right; #${falls} is superseded.`, () => send('DELETE', `/api/graph/edges/${edge.id}`), reload);
    reload();
  });
}

/** @param {any} finding */
function findingCard(finding) {
  const severe = finding.problem === 'secret' || finding.problem === 'contradicting';
  const remedy = REMEDIES[finding.problem];
  const row = (/** @type {any} */ example) => h('li', { class: 'finding' },
    h('div', {}, example.ids.length > 0 ? h('a', { href: `/m/${example.ids[0]}` }, h('b', {}, bare(example.title))) : h('b', {}, example.title),
      quietLine(bare(example.why), example.ids.slice(1).map((/** @type {number} */ id) => [' ', h('a', { href: `/m/${id}` }, `Open #${id}`)]))),
    h('div', { class: 'actions' },
      finding.problem === 'contradicting' && example.ids.length === 2 && [[0, 1], [1, 0]].map(([holds, falls]) => h('button', { class: 'button small', title: 'The other one stays readable, as superseded', onclick: () => void settle(example.ids[holds ?? 0], example.ids[falls ?? 1]) }, holds === 0 ? 'This is right' : `#${example.ids[1]} is right`)),
      remedy && example.ids.length > 0 && button('small', () => void act(remedy[0], [{ id: example.ids[0] }], reload), remedy[1])));
  // Where a button does it, the command is not named too.
  const byHand = !remedy && finding.problem !== 'contradicting';
  return card(problemName(finding.problem), [
    h('p', { class: 'quiet remedy' }, `${capital(finding.says)}. `, byHand && coded(finding.remedy)),
    h('ul', {}, finding.examples.map(row)), finding.problem === 'alike' && commandLine('cortex mind run maintenance --dry-run')],
  { id: finding.problem, class: severe ? 'warn-card' : '', aside: h('span', { class: `pill ${severe ? 'bad' : ''}` }, severe && [icon('warn'), ' '], count(finding.count)) });
}
