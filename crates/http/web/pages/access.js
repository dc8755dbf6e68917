// Access: the grants that let others see a part, how often each was used, and how to take one back.

import { get, send } from '../lib/api.js';
import { confirmTyped } from '../lib/dialog.js';
import { h } from '../lib/dom.js';
import { card, commandLine, empty, heading, table, when } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { count, counted } from '../lib/text.js';
import { fail, tell } from '../lib/toast.js';

/** @param {import('../lib/router.js').Visit} visit */
export async function open({ signal }) {
  const grants = await get('/api/scopes', {}, signal);
  const revoke = (/** @type {any} */ grant) => confirmTyped('Revoke the grant', 'Whoever holds it sees nothing from then on. A revoked grant cannot be brought back; a new one can be made.', grant.delegate, 'Revoke', async () => {
    try {
      await send('DELETE', `/api/scopes/${grant.id}`, {}, { reason: 'revoked on the page' });
      tell(`The grant of ${grant.delegate} is revoked.`);
      reload();
    } catch (error) {
      fail(error);
    }
  });
  return [
    heading('Access', { sub: `${counted(grants.length, 'grant')}. You see everything; whoever holds a grant sees its part.` }),
    card('Grants', grants.length === 0 ? empty('Nobody else is let in', 'A grant is a file that gives an agent a part of the memory, until a date.', commandLine('cortex scope-grant reviewer --new-key --operation read,find --project NAME --expires 7d --out reviewer.grant'))
      : table('Grants', ['For', 'May', 'Sees', 'Until', 'Used', ''], grants.map((/** @type {any} */ grant) => [h('b', {}, grant.delegate), grant.operations.join(', '), [grant.include, grant.exclude && ` without ${grant.exclude}`], when(grant.expires),
        `${count(grant.uses)}${grant.use_limit ? ` of ${count(grant.use_limit)}` : ''}`,
        grant.revoked ? h('span', { class: 'pill bad' }, 'revoked') : grant.expired ? h('span', { class: 'pill' }, 'expired') : h('button', { class: 'button small danger', type: 'button', onclick: () => revoke(grant) }, 'Revoke…')]))),
  ];
}
