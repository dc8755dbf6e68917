// Ask: questions about the memory and what tends it, answered by rules, and by a model where one is set up.

import { send } from '../lib/api.js';
import { button, h, input } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { heading } from '../lib/parts.js';
import { attempt } from '../lib/toast.js';

/** What was said since the page was loaded, so that leaving and coming back loses nothing. @type {{mine: boolean, text: string}[]} */
const said = [];
const EXAMPLES = ['show me recent memory activity', 'what is running', 'show jobs', 'preview maintenance', 'status', 'help'];

/** @param {Visit} _visit */
export async function open(_visit) {
  const list = h('div', { class: 'said', role: 'log', 'aria-label': 'Conversation' });
  const put = (/** @type {{mine: boolean, text: string}} */ line) => {
    const node = h('div', { class: line.mine ? 'mine' : null }, line.mine ? line.text : markdown(line.text));
    list.append(node);
    node.scrollIntoView({ block: 'nearest' });
  };
  said.forEach((line) => list.append(h('div', { class: line.mine ? 'mine' : null }, line.mine ? line.text : markdown(line.text))));
  const field = input({ type: 'text', 'aria-label': 'Question', placeholder: 'What do you know about the release?', autocomplete: 'off', maxlength: 4000 });
  const ask = async (/** @type {string} */ message) => {
    if (!message.trim()) return;
    const mine = { mine: true, text: message };
    said.push(mine);
    put(mine);
    field.value = '';
    await attempt(async () => {
      const answer = await send('POST', '/api/cortex/chat', { message });
      const theirs = { mine: false, text: answer.response };
      said.push(theirs);
      put(theirs);
    });
  };
  setTimeout(() => field.focus(), 0);
  return [
    heading('Ask', { sub: 'Answered by rules on this machine; a model is asked only if one is set up and no rule understands.' }),
    list, h('div', { class: 'chips examples' }, EXAMPLES.map((example) => button('small', () => void ask(example), example))),
    h('form', { class: 'say', onsubmit: (event) => { event.preventDefault(); void ask(field.value); } }, field, h('button', { class: 'button primary', type: 'submit' }, 'Ask')),
  ];
}
