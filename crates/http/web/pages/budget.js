// Budget: what models cost today and on days before, by purpose, against the limits; and the switch that stops them all.

import { get, send } from '../lib/api.js';
import { h, map, quiet, quietLine } from '../lib/dom.js';
import { card, coded, empty, heading, table, when } from '../lib/parts.js';
import { spentPlot } from '../lib/plot.js';
import { reload } from '../lib/router.js';
import { count, counted } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

const LEDGER = 100;
const DAYS = 30;

/** @param {Visit} visit */
export async function open({ signal }) {
  const budget = await get('/api/budget', { limit: LEDGER, days: DAYS }, signal);
  const turn = async () => {
    const off = !budget.kill_switch;
    await attempt(async () => {
      await send('POST', '/api/budget', { kill_switch: off });
      tell(off ? 'No model is asked from now on.' : 'Models may be asked again.', () => send('POST', '/api/budget', { kill_switch: !off }), reload);
      reload();
    });
  };
  return [
    heading('Budget', { sub: budget.provider ? `Today $${budget.dollars.toFixed(2)} and ${counted(budget.tokens, 'token')} with ${budget.provider}` : `Today $${budget.dollars.toFixed(2)}. No model is set up, so nothing can be spent.`,
      actions: h('button', { class: `button ${budget.kill_switch ? 'primary' : 'danger'}`, onclick: () => void turn() }, budget.kill_switch ? 'Allow models again' : 'Stop all models') }),
    budget.kill_switch && h('p', { class: 'notice warn' }, 'The kill switch is thrown: no model is asked. Everything else works.'),
    card('By day', spentPlot(budget.days ?? [], map(budget.purposes, (each) => each.purpose), budget.day, DAYS), { aside: quiet(`last ${DAYS} days, in UTC`) }),
    card('Today by purpose', [table('Spent by purpose', ['Purpose', 'Tokens', 'Limit', 'Dollars', 'Limit', 'Used'], map(budget.purposes, (each) => {
      const limit = each.tokens_limit || budget.tokens_limit;
      return [each.purpose, count(each.tokens), limit ? count(limit) : 'none', each.dollars ? `$${each.dollars.toFixed(4)}` : '$0', each.dollars_limit ? `$${each.dollars_limit.toFixed(2)}` : 'none',
        limit ? h('meter', { min: 0, max: limit, value: each.tokens, 'aria-label': `${each.purpose} used` }) : quiet('no limit')];
    })), quietLine(coded('Limits are set in `cortex.toml` under `[defaults.budget]`, such as `tokens_per_day` and `chat_tokens_per_day`.'))]),
    card('What was spent', budget.ledger.length === 0 ? empty('Nothing was spent', 'Remembering, searching and tending need no model.')
      : table('What was spent', ['When', 'Purpose', 'Who', 'Model', 'Tokens', 'Dollars'], map(budget.ledger, (line) => [when(line.at), line.purpose, line.who, line.model ?? '', count(line.tokens), `$${line.dollars.toFixed(4)}${line.assumed ? ' (assumed)' : ''}`]))),
  ];
}
