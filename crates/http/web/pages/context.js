// What agents see: the very text that a session starts with, for a project and a budget, and what it costs.

import { act } from '../lib/actions.js';
import { get } from '../lib/api.js';
import { h, icon, map, quiet, s, show } from '../lib/dom.js';
import { badge, card, empty, fillIn, heading } from '../lib/parts.js';
import { markdown } from '../lib/markdown_dom.js';
import { go, reload } from '../lib/router.js';
import { project } from '../lib/state.js';
import { bytes, count, counted, tokens } from '../lib/text.js';

const BUDGETS = [2_048, 4_096, 8_192, 16_384, 32_768, 65_536];
const DEFAULT_BUDGET = 16_384;

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const budget = Number(query.get('bytes')) || DEFAULT_BUDGET;
  const context = await get('/api/context', { project: project(), max_bytes: budget }, signal);
  const bulletin = h('div');
  void fillIn(bulletin, async () => {
    const answer = await get('/api/bulletin', { project: project(), as_prompt: true }, signal);
    return answer.bulletin ? h('div', { class: 'context-text' }, answer.bulletin.text) : empty('No bulletin yet', 'It is written when the mind has warmed up.');
  }, 4);
  const text = h('div', { class: 'context-text' }, context.text);
  const rendered = h('button', { class: 'button small', 'aria-pressed': 'false', onclick: () => {
    const on = rendered.getAttribute('aria-pressed') === 'false';
    rendered.setAttribute('aria-pressed', String(on));
    show(text, on ? markdown(context.text) : context.text);
    text.classList.toggle('context-text', !on);
  } }, 'Rendered');
  const choose = h('select', { id: 'budget', onchange: (event) => go(`/context?bytes=${event.target.value}`) },
    BUDGETS.map((size) => h('option', { value: size, selected: size === budget }, `at most ${bytes(size)}`)));
  return [
    heading('What agents see', {
      sub: `The exact text an agent gets when it starts in ${project() || 'no particular project'}.`,
      actions: [h('label', { class: 'hidden', for: 'budget' }, 'Budget'), choose],
    }),
    h('div', { class: 'columns' },
      h('div', {}, card('At the start of a session', text, { aside: rendered }), card('Bulletin, as a prompt holds it', bulletin)),
      h('div', {}, card('Cost', costs(context)),
        context.pinned.length + context.memories.length > 0 && card('In it', h('ul', { class: 'rows' }, [...context.pinned, ...context.memories].slice(0, 40).map((/** @type {any} */ brief) => h('li', { class: 'in-context' },
          h('a', { class: 'row slim', href: `/m/${brief.id}`, 'data-id': brief.id }, badge(brief), h('span', { class: 'row-title' }, brief.title.replaceAll('`', ''))),
          h('button', { class: 'icon-button', 'aria-label': `${brief.pinned ? 'Unpin' : 'Pin'} ${brief.title}`, 'aria-pressed': String(brief.pinned), onclick: () => void act(brief.pinned ? 'unpin' : 'pin', [brief], reload) }, icon('pin')),
          h('button', { class: 'icon-button', 'aria-label': `Put away ${brief.title}`, title: 'Put away', onclick: () => void act('archive', [brief], reload) }, icon('close'))))),
        { aside: quiet('change it and see') }))),
  ];
}

/**
 * Tokens by part, as a bar and as numbers.
 * @param {any} context
 */
function costs(context) {
  const total = tokens(context.text);
  const parts = context.text.split(/^(?=## |---$)/m).filter((/** @type {string} */ part) => part.trim())
    .map((/** @type {string} */ part) => ({ name: part.startsWith('## ') ? part.slice(3, part.indexOf('\n')) : 'Counts', tokens: tokens(part) }));
  let at = 0;
  const bar = s('svg', { class: 'parts-bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Tokens by part' },
    map(parts, (part, index) => {
      const width = (part.tokens / Math.max(total, 1)) * 100;
      at += width;
      return s('rect', { x: at - width, y: 0, width, height: 10, class: `c${index % 6}` });
    }));
  return [
    h('p', {}, h('span', { class: 'big' }, count(total)), ' tokens, estimated · ', bytes(new TextEncoder().encode(context.text).length)), bar,
    h('ul', { class: 'parts' }, map(parts, (part, index) => h('li', {},
      h('span', { class: `swatch c${index % 6}` }), part.name, h('span', { class: 'number' }, count(part.tokens))))),
    h('p', {}, h('span', { class: context.left_out > 0 ? 'pill warn' : 'pill good' }, context.left_out > 0 ? `${counted(context.left_out, 'line')} did not fit` : 'everything fits')),
  ];
}
