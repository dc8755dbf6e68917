// Access: the grants that let others see a part, how often each was used, and how to take one back.

import { get, send } from '../lib/api.js';
import { confirmTyped, openDialog } from '../lib/dialog.js';
import { actions, button, h, input, map, pill } from '../lib/dom.js';
import { card, commandLine, empty, heading, table, when } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { count, counted } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';
import { agentsCard } from './connect.js';

/** @param {Visit} visit */
export async function open({ signal }) {
  const grants = await get('/api/scopes', {}, signal);
  const revoke = (/** @type {any} */ grant) => confirmTyped('Revoke the grant', 'Whoever holds it sees nothing from then on. A revoked grant cannot be brought back; a new one can be made.', grant.delegate, 'Revoke', () => attempt(async () => {
    await send('DELETE', `/api/scopes/${grant.id}`, {}, { reason: 'revoked on the page' });
    tell(`The grant of ${grant.delegate} is revoked.`);
    reload();
  }));
  return [
    heading('Access', { actions: button('primary', () => void give(signal), 'Let somebody in'), sub: `${counted(grants.length, 'grant')}. You see everything; whoever holds a grant sees its part.` }),
    card('Grants', grants.length === 0 ? empty('Nobody else is let in', 'A grant is a file that gives an agent a part of the memory, until a date.', commandLine('cortex scope-grant reviewer --new-key --operation read,find --project NAME --expires 7d --out reviewer.grant'))
      : table('Grants', ['For', 'May', 'Sees', 'Until', 'Used', ''], map(grants, (grant) => [h('b', {}, grant.delegate), grant.operations.join(', '), [grant.include, grant.exclude && ` without ${grant.exclude}`], when(grant.expires),
        `${count(grant.uses)}${grant.use_limit ? ` of ${count(grant.use_limit)}` : ''}`,
        grant.revoked ? pill('bad', 'revoked') : grant.expired ? pill('', 'expired') : button('small danger', () => revoke(grant), 'Revoke…')]))),
    agentsCard(),
  ];
}

const DAY = 86_400_000;

/**
 * Makes a grant. Its token is shown once, and revoking it takes it back.
 * @param {AbortSignal} signal
 */
async function give(signal) {
  const { projects } = await get('/api/projects', {}, signal).catch(() => ({ projects: [] }));
  const name = input({ id: 'grant-name', required: true, maxlength: 64, autocomplete: 'off', placeholder: 'reviewer' });
  const where = /** @type {HTMLSelectElement} */ (h('select', { id: 'grant-project' }, h('option', { value: '' }, 'everything that is shared'), projects.filter((/** @type {any} */ each) => each.name).map((/** @type {any} */ each) => h('option', { value: each.name }, each.name))));
  const days = /** @type {HTMLSelectElement} */ (h('select', { id: 'grant-days' }, [1, 7, 30, 90].map((each) => h('option', { value: each, selected: each === 7 }, counted(each, 'day')))));
  const form = h('form', { onsubmit: async (event) => {
    event.preventDefault();
    dialog.close();
    await attempt(async () => {
      const given = await send('POST', '/api/scopes', { name: name.value.trim(), operations: ['read', 'find'], expires: new Date(Date.now() + Number(days.value) * DAY).toISOString(), ...(where.value && { include: { projects: [where.value] } }) });
      tell(`${name.value.trim()} is let in.`, () => send('DELETE', `/api/scopes/${given.id}`, {}, { reason: 'taken back on the page' }), reload);
      reload();
      openDialog('The token, shown once', [h('p', {}, 'Whoever sends it as ', h('code', {}, 'Authorization: Bearer …'), ' to this address, or to ', h('code', {}, '/mcp'), ', sees its part until then. It is kept nowhere.'), commandLine(given.token ?? '')]);
    });
  } }, h('label', { for: 'grant-name' }, 'Who'), name, h('label', { for: 'grant-project' }, 'May find and read'), where, h('label', { for: 'grant-days' }, 'For'), days,
  actions(h('button', { class: 'button primary', type: 'submit' }, 'Let in')));
  const dialog = openDialog('Let somebody in', form);
}
