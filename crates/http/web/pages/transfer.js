// Moving in and out: an export of everything as a file, a backup into a folder, and an import: first what it would bring,
// then bringing it, then a way back.

import { ApiError, get, send } from '../lib/api.js';
import { actions, button, h, input, quietLine, show } from '../lib/dom.js';
import { card, coded, commandLine, details, heading, problem, table } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { bytes, count, counted, shortRoot, words } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

const FORMATS = [['', 'detect by itself'], ['cortex', 'an export of Cortex'], ['engram', 'engram'], ['claude-mem', 'claude-mem'], ['mem0', 'mem0'], ['server-memory', 'server-memory']];
const FILE_BYTES_MAX = 1024 ** 3;
/** What an import may write and still be taken back from here: more would keep the reader waiting for minutes. */
const UNDOABLE_MAX = 20_000;

/** @param {Visit} visit */
export async function open({ signal }) {
  const result = h('div', { 'aria-live': 'polite' });
  const format = /** @type {HTMLSelectElement} */ (h('select', { id: 'format' }, FORMATS.map(([value, name]) => h('option', { value: value ?? '' }, name ?? ''))));
  const file = input({ id: 'file', type: 'file', onchange: () => void look(file, format.value, result, signal) });
  const scope = project() ? `?project=${encodeURIComponent(project())}` : '';
  return [
    heading('Moving in and out', { sub: 'What is remembered is yours: one file takes all of it along.' }),
    card('Export', [h('p', {}, `JSON Lines, one object per line: memories with every version, relations, sessions and prompts${project() ? `, of ${project()} only` : ''}.`),
      actions(h('a', { class: 'button', href: `/api/export${scope}`, download: 'cortex.jsonl' }, 'Download the export'))]),
    await backupCard(signal),
    card('Import', [h('p', {}, 'Choose a file to see what it would bring. Looking changes nothing.'),
      h('div', { class: 'filters' }, h('label', { for: 'format' }, 'Format'), format, h('label', { class: 'hidden', for: 'file' }, 'File'), file), result]),
  ];
}

/**
 * A backup is made by the daemon, so its folder is one of the daemon's machine.
 * @param {AbortSignal} signal
 */
async function backupCard(signal) {
  // Who may not read settings still names a folder.
  const { path, settings } = await get('/api/settings', {}, signal).catch(() => ({ path: '', settings: [] }));
  const chosen = settings.find((/** @type {any} */ each) => each.key === 'backup.dir')?.value;
  const folder = input({ id: 'backup-folder', required: true, autocomplete: 'off', value: chosen || (path ? path.replace(/\/[^/]*$/, '-backup') : '') });
  const made = h('div', { 'aria-live': 'polite' });
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    show(made, waitingFor('Copying what is new'));
    try {
      const { actors } = await send('POST', '/api/backup', { folder: folder.value.trim() });
      show(made, h('p', { class: 'verdict good' }, `Backed up to ${folder.value.trim()}.`), table('Backup', ['Memory of', 'Entries', 'Copied', 'Root'], actors.map((/** @type {any} */ each) => [each.actor, count(each.entries), bytes(each.copied_bytes), h('code', { title: each.root }, shortRoot(each.root))])));
    } catch (error) {
      show(made, problem(error));
    }
  };
  return card('Backup', [h('p', {}, coded('A folder on this machine with all that is remembered, made while agents go on. Another one into the same folder copies only what is new. `cortex restore` brings it back.')),
    h('form', { class: 'say-row', onsubmit: run }, h('label', { class: 'hidden', for: 'backup-folder' }, 'Folder'), folder, h('button', { class: 'button', type: 'submit' }, 'Back up now')), made,
    quietLine(chosen ? 'A backup is also made by itself, as ' : 'None is made by itself. A folder under ', h('a', { href: '/settings' }, 'settings'), chosen ? ' say.' : ' (backup.dir) changes that.')]);
}

/** @param {string} words */
function waitingFor(words) {
  return h('p', { class: 'inline' }, h('progress', { 'aria-label': words }), `${words} …`);
}

/**
 * Sends the file. What went over is shown as it goes; a dry run changes nothing.
 * @param {File} file
 * @param {string} format
 * @param {boolean} dry
 * @param {HTMLElement} place
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
function upload(file, format, dry, place, signal) {
  const bar = /** @type {HTMLProgressElement} */ (h('progress', { max: 1, 'aria-label': 'Sent' }));
  const note = h('span', {}, 'Sending …');
  show(place, h('p', { class: 'inline' }, bar, note));
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', `/api/import?dry_run=${dry}${format ? `&from=${format}` : ''}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.upload.onprogress = (event) => { bar.value = event.loaded / Math.max(event.total, 1); };
    request.upload.onload = () => {
      bar.removeAttribute('value');
      show(note, dry ? 'Looking what is new …' : 'Writing …');
    };
    request.onerror = () => reject(new TypeError('the network failed'));
    request.onabort = () => reject(new DOMException('', 'AbortError'));
    request.onload = () => {
      let answer = null;
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // A proxy in between may answer in HTML; the status says enough.
      }
      if (request.status >= 200 && request.status < 300) resolve(answer);
      else reject(new ApiError(request.status, answer));
    };
    request.send(file);
  });
}

/**
 * @param {HTMLInputElement} field
 * @param {string} format
 * @param {HTMLElement} place
 * @param {AbortSignal} signal
 */
async function look(field, format, place, signal) {
  const file = field.files?.[0];
  if (!file) return;
  try {
    if (file.size > FILE_BYTES_MAX) throw new Error(`The file has ${bytes(file.size)}; the page takes up to 1 GiB. The command has no such bound.`);
    const report = await upload(file, format, true, place, signal);
    const writes = report.memories.new + report.memories.changed + report.versions + report.edges.new + report.sessions.new + report.prompts.new;
    const bring = () => attempt(async () => {
      const done = await upload(file, format, false, place, signal);
      show(place, verdict(done), figures(done), actions(h('a', { class: 'button', href: '/memories' }, 'See the memories')));
      tell(`${counted(done.memories.new, 'memory', 'memories')} brought in.`, done.run ? () => send('POST', '/api/mind/undo', { run: done.run }) : null, () => go('/transfer'));
    });
    show(place, verdict(report), figures(report), writes === 0 ? quietLine('There is nothing to bring in.')
      : writes <= UNDOABLE_MAX ? actions(button('primary', () => void bring(), 'Bring it in'), h('span', { class: 'quiet' }, 'It can be taken back; sessions and prompts stay.'))
        : [h('p', {}, 'That is more than could be taken back from here in reasonable time. A backup first, then:'), commandLine(`cortex import ${file.name}`)]);
  } catch (error) {
    if (!signal.aborted) show(place, problem(error));
  }
}

/** @param {any} report */
function verdict(report) {
  const is = report.dry_run ? 'would be' : 'are';
  return h('p', { class: 'verdict good' }, `${counted(report.memories.new, 'memory', 'memories')} ${report.dry_run ? is : report.memories.new === 1 ? 'is' : is} new, ${count(report.memories.changed)} changed, ${count(report.memories.unchanged)} are here already.`);
}

/** @param {any} report */
function figures(report) {
  return [
    details([['Format', report.format], ['Sessions', count(report.sessions.new)], ['Prompts', count(report.prompts.new)], ['Relations', count(report.edges.new)], ['Masked secrets', count(report.redacted)],
      ['Dates kept', `${count(report.dates.as_created)}${report.dates.as_valid_from ? `, ${count(report.dates.as_valid_from)} as valid from, because the journal is already later` : ''}`], ['Left out', count(report.skipped.total)]]),
    Object.keys(report.skipped.by_reason).length > 0 && table('Left out', ['Reason', 'Rows'], Object.entries(report.skipped.by_reason).map(([reason, rows]) => [words(reason), String(rows)])),
  ];
}
