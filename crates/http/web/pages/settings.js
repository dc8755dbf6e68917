// Settings: every key with its value, where that came from, and what it may be. A change is written to the file of the
// home, checked by the server, and taken back like any other.

import { get, send } from '../lib/api.js';
import { button, h, quietLine, show } from '../lib/dom.js';
import { card, coded, heading } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { capital, words } from '../lib/text.js';
import { fail, tell } from '../lib/toast.js';

/** Groups whose name is no word. @type {{[group: string]: string}} */
const NAMES = { http: 'HTTP', mcp: 'MCP' };

/** @param {Visit} visit */
export async function open({ signal }) {
  const { path, settings } = await get('/api/settings', {}, signal);
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const setting of settings) {
    const group = setting.key.split('.')[0];
    groups.set(group, [...groups.get(group) ?? [], setting]);
  }
  return [
    heading('Settings', { sub: ['In ', h('code', {}, path), '. Most of it is read when Cortex starts.'] }),
    [...groups].map(([group, entries]) => card(NAMES[group] ?? capital(words(group)), h('ul', { class: 'settings' }, entries.map(row)))),
  ];
}

/** What a number may be; that a text is a text need not be said. @param {string | null | undefined} expects */
function range(expects) {
  const bounds = /between (\S+) and (\S+)/.exec(expects ?? '');
  return bounds ? ` From ${bounds[1]} to ${bounds[2]}.` : /text|true or false/.test(expects ?? '') || !expects ? '' : ` ${capital(expects)}.`;
}

/** @param {any} setting */
function row(setting) {
  const id = `set-${setting.key.replaceAll('.', '-')}`;
  const isFlag = typeof setting.default === 'boolean';
  const fixed = !setting.origin.includes('/') && setting.origin !== 'default';
  const change = async (/** @type {string | null} */ value) => {
    try {
      const answer = await send('PUT', '/api/settings', value === null ? { key: setting.key } : { key: setting.key, value });
      if (answer.changed) tell(`${setting.key} is set.`, () => send('PUT', '/api/settings', answer.before === undefined ? { key: setting.key } : { key: setting.key, value: answer.before }), reload);
      reload();
    } catch (error) {
      show(wrong, /** @type {any} */ (error).message);
      if (!(error instanceof Error)) fail(error);
    }
  };
  const box = /** @type {HTMLInputElement} */ (isFlag
    ? h('input', { id, type: 'checkbox', checked: setting.value, disabled: fixed, onchange: () => void change(String(box.checked)) })
    : h('input', { id, type: typeof setting.default === 'number' ? 'number' : 'text', step: 'any', value: String(setting.value), disabled: fixed, onchange: () => void change(box.value) }));
  const wrong = h('span', { class: 'bad-text', role: 'alert' });
  return h('li', {}, h('div', {}, h('label', { for: id }, h('code', {}, setting.key)), quietLine(coded(setting.about), '.', range(setting.expects))), box,
    h('span', { class: 'pill', title: setting.variable }, fixed ? `set by ${setting.origin}` : setting.origin === 'default' ? 'default' : 'file'),
    !fixed && setting.origin !== 'default' && button('link', () => void change(null), 'Default'), wrong);
}
