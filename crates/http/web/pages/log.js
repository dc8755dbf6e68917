// Log: what the daemon wrote down since it began, the newest first. No memory's text and no secret is in it.

import { get } from '../lib/api.js';
import { button, h, pill, quiet, show } from '../lib/dom.js';
import { empty, heading } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { count } from '../lib/text.js';
import { moment } from '../lib/time.js';

const LINES = 500;
const KINDS = { ERROR: 'bad', WARN: 'warn', INFO: '' };

/** @typedef {{at: string, level: string, text: string}} Line */

/** @param {Visit} visit */
export async function open({ signal }) {
  const { lines, total } = await get('/api/logs', { limit: LINES }, signal);
  const all = lines.map(read).reverse();
  const list = h('div', { class: 'events', role: 'log', 'aria-label': 'Log' });
  const draw = (/** @type {string} */ level) => {
    const wanted = all.filter((/** @type {Line} */ line) => !level || line.level === level || (level === 'WARN' && line.level === 'ERROR'));
    show(list, wanted.length === 0 ? empty('Nothing of this kind', 'Since Cortex began.') : wanted.map(row));
  };
  draw('');
  return [
    heading('Log', { sub: all.length === 0 ? 'Nothing was logged since Cortex began.' : `The newest ${count(all.length)} of ${count(total)} lines since Cortex began. No memory's text and no secret is in it.`, actions: [
      h('select', { 'aria-label': 'Level', onchange: (event) => draw(event.target.value) }, h('option', { value: '' }, 'Everything'), h('option', { value: 'WARN' }, 'Warnings and errors'), h('option', { value: 'ERROR' }, 'Errors')),
      button('', reload, 'Read again')] }),
    list,
  ];
}

/**
 * A line as it was written: JSON of a daemon in the background, words of one in the foreground.
 * @param {string} line
 * @returns {Line}
 */
function read(line) {
  if (line.startsWith('{')) {
    try {
      const { timestamp, level, message, target, ...rest } = JSON.parse(line);
      const more = Object.entries(rest).map(([name, value]) => ` ${name}=${value}`).join('');
      return { at: String(timestamp ?? ''), level: String(level ?? ''), text: `${message ?? target ?? ''}${more}` };
    } catch {
      // A line that was cut is shown as it is.
    }
  }
  const parts = /^(\d{4}-\S+)\s+([A-Z]+)\s+(.*)$/s.exec(line);
  return parts ? { at: parts[1] ?? '', level: parts[2] ?? '', text: parts[3] ?? '' } : { at: '', level: '', text: line };
}

/** @param {Line} line */
function row(line) {
  return h('div', { class: 'event' }, h('header', {}, h('time', { class: 'quiet' }, moment(line.at)), line.level && pill(/** @type {any} */ (KINDS)[line.level] ?? '', line.level.toLowerCase()), line.text || quiet('nothing')));
}
