// Chat: conversations that Cortex keeps. An answer comes as it is written; branches think aside, workers do a task, and what
// they come to is a note. It needs a model; without one it says so and how to name one.

import { ApiError, get, send } from '../lib/api.js';
import { actions, button, h, input, map, quiet, show } from '../lib/dom.js';
import { markdown } from '../lib/markdown_dom.js';
import { card, empty, heading, when } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { counted } from '../lib/text.js';
import { attempt, fail, tell } from '../lib/toast.js';

const MESSAGES = 100;

/** @param {Visit} visit */
export async function open({ parts, signal }) {
  const name = parts[1] ?? '';
  const [{ channels }, { provider }] = await Promise.all([get('/api/channels', {}, signal), get('/api/budget', { limit: 1 }, signal)]);
  const known = channels.some((/** @type {any} */ each) => each.channel === name);
  const channel = known ? await get(`/api/channels/${encodeURIComponent(name)}`, { limit: MESSAGES }, signal) : null;
  const head = h('div', {}, above(name, channel));
  const side = h('div', {}, beside(name, channels));
  // What is said stays as it is, and so does what is being typed: only what stands around it is drawn again.
  const refresh = async () => {
    const said = name || 'main';
    const [now, one] = await Promise.all([get('/api/channels', {}, signal), get(`/api/channels/${encodeURIComponent(said)}`, { limit: 1 }, signal)]);
    show(head, above(said, one));
    show(side, beside(said, now.channels));
  };
  return [
    head,
    !provider && h('div', { class: 'notice warn' }, h('p', {}, 'No model is set up, so nobody would answer. Everything else works without one; questions that need none are answered at ', h('a', { href: '/ask' }, 'Ask'), '.'), h('p', {}, 'To name one, start the daemon with a key (', h('code', {}, 'ANTHROPIC_API_KEY'), ', ', h('code', {}, 'OPENAI_API_KEY'), ', ', h('code', {}, 'GEMINI_API_KEY'), ') or write in ', h('code', {}, 'cortex.toml'), ': ', h('code', {}, '[providers.default]'), ' ', h('code', {}, 'provider = "ollama"'))),
    h('div', { class: 'columns chat' }, h('div', {}, talk(name || 'main', channel, refresh, signal)), side),
  ];
}

/**
 * @param {string} name
 * @param {any} channel
 */
function above(name, channel) {
  return heading(name || 'Chat', { sub: channel ? `${counted(channel.messages, 'message')}, ${counted(channel.tokens, 'token')} in its context${channel.branches.length > 0 ? `, ${counted(channel.branches.length, 'branch', 'branches')} thinking` : ''}` : 'Conversations with the memory at hand. What is worth keeping becomes a memory.',
    actions: channel && [button('', () => void aside(name, 'branches', 'description', 'What is the branch to think about?'), 'Branch'),
      button('', () => void aside(name, 'workers', 'task', 'What is the worker to do?'), 'Worker'),
      (channel.is_answering || channel.branches.length > 0) && button('danger', () => void stop(name), 'Stop')] });
}

/**
 * @param {string} name
 * @param {any[]} channels
 */
function beside(name, channels) {
  return card('Channels', channels.length === 0 ? empty('None yet', 'The first message makes one.') : h('ul', { class: 'health' }, map(channels, (each) => h('li', {},
    h('span', { class: `dot ${each.is_answering ? 'good' : ''}` }), h('a', { class: 'grow', href: `/chat/${encodeURIComponent(each.channel)}`, 'aria-current': each.channel === name ? 'true' : null }, each.channel), quiet(when(each.last_at))))));
}

/**
 * @param {string} name
 * @param {any} channel
 * @param {() => Promise<void>} refresh
 * @param {AbortSignal} signal
 */
function talk(name, channel, refresh, signal) {
  const list = h('div', { class: 'said', role: 'log', 'aria-label': 'Conversation' }, (channel?.said ?? []).map(line));
  if (channel?.last_error) list.append(h('p', { class: 'bad-text' }, channel.last_error));
  const field = input({ type: 'text', 'aria-label': `Message to ${name}`, placeholder: `Say something in ${name}`, autocomplete: 'off', maxlength: 8000 });
  const speak = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return;
    field.value = '';
    list.append(line({ by: 'user', text }));
    const answer = h('div', { 'aria-busy': 'true' }, '…');
    list.append(answer);
    try {
      await stream(name, text, answer, signal);
      answer.removeAttribute('aria-busy');
      if (!channel) go(`/chat/${encodeURIComponent(name)}`, { replace: true, quiet: true });
      // What is said stands, also if what stands around it cannot be asked for.
      refresh().catch(() => {});
    } catch (error) {
      answer.remove();
      if (!signal.aborted) fail(error);
    }
  };
  return [list, h('form', { class: 'say', onsubmit: speak }, field, h('button', { class: 'button primary', type: 'submit' }, 'Send'))];
}

/** @param {any} said */
function line(said) {
  return h('div', { class: said.by === 'user' ? 'mine' : said.by === 'note' ? 'aside' : null }, said.by === 'user' ? said.text : markdown(said.text));
}

/**
 * Sends a message and shows the answer while it is written.
 * @param {string} name
 * @param {string} message
 * @param {HTMLElement} place
 * @param {AbortSignal} signal
 */
async function stream(name, message, place, signal) {
  const answer = await fetch(`/api/channels/${encodeURIComponent(name)}/messages`, { method: 'POST', credentials: 'same-origin', signal,
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' }, body: JSON.stringify({ message }) });
  if (!answer.ok || !answer.body) throw new ApiError(answer.status, await answer.json().catch(() => null));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, text] = ['', ''];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const each of events) {
      const kind = /^event: *(.*)$/m.exec(each)?.[1];
      const data = JSON.parse(/^data: *(.*)$/m.exec(each)?.[1] ?? '{}');
      if (kind === 'delta') show(place, text += data.text);
      if (kind === 'tool' && !text) show(place, quiet(`uses ${data.name ?? data.tool ?? 'a tool'} …`));
      if (kind === 'done') show(place, markdown(data.answer ?? data.text ?? text));
      if (kind === 'error') throw new Error(data.detail ?? data.error ?? 'Nobody answered.');
    }
  }
}

/**
 * @param {string} name
 * @param {string} kind
 * @param {string} key
 * @param {string} question
 */
async function aside(name, kind, key, question) {
  const { openDialog } = await import('../lib/dialog.js');
  const field = /** @type {HTMLTextAreaElement} */ (h('textarea', { rows: 4, required: true, 'aria-label': question, maxlength: 4000 }));
  const dialog = openDialog(question, h('form', { onsubmit: async (event) => {
    event.preventDefault();
    dialog.close();
    await attempt(async () => {
      await send('POST', `/api/channels/${encodeURIComponent(name)}/${kind}`, { [key]: field.value });
      tell('It has begun; what it comes to becomes a note here.');
      reload();
    });
  } }, field, actions(h('button', { class: 'button primary', type: 'submit' }, 'Begin'))));
}

/** @param {string} name */
async function stop(name) {
  await attempt(async () => {
    await send('POST', `/api/channels/${encodeURIComponent(name)}/stop`);
    reload();
  });
}
