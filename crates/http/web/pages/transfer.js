// Moving in and out: an export of everything as a file, and what an import would bring, before anything is changed.
//
// The import itself is a command: nothing here could take it back.

import { ApiError } from '../lib/api.js';
import { actions, h, input, show } from '../lib/dom.js';
import { card, coded, commandLine, details, heading, problem, skeleton, table } from '../lib/parts.js';
import { project } from '../lib/state.js';
import { bytes, count, counted, words } from '../lib/text.js';

const FORMATS = [['', 'detect by itself'], ['cortex', 'an export of Cortex'], ['engram', 'engram'], ['claude-mem', 'claude-mem'], ['mem0', 'mem0'], ['server-memory', 'server-memory']];
const FILE_BYTES_MAX = 1024 ** 3;

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
    card('Backup', [h('p', {}, coded('A folder with all that is remembered, made while agents go on. `cortex restore` brings it back.')), actions(commandLine('cortex backup FOLDER'))]),
    card('Import', [h('p', {}, 'Choose a file to see what it would bring. Looking changes nothing.'),
      h('div', { class: 'filters' }, h('label', { for: 'format' }, 'Format'), format, h('label', { class: 'hidden', for: 'file' }, 'File'), file), result]),
  ];
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
  show(place, skeleton(3));
  try {
    if (file.size > FILE_BYTES_MAX) throw new Error(`The file has ${bytes(file.size)}; the page takes up to 1 GiB. The command has no such bound.`);
    const answer = await fetch(`/api/import?dry_run=true${format ? `&from=${format}` : ''}`, { method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body: file, signal });
    const report = await answer.json();
    if (!answer.ok) throw new ApiError(answer.status, report);
    show(place, h('p', { class: 'verdict good' }, `${counted(report.memories.new, 'memory', 'memories')} would be new, ${count(report.memories.changed)} changed, ${count(report.memories.unchanged)} are here already.`),
      details([['Format', report.format], ['Sessions', count(report.sessions.new)], ['Prompts', count(report.prompts.new)], ['Relations', count(report.edges.new)], ['Masked secrets', count(report.redacted)],
        ['Dates kept', `${count(report.dates.as_created)}${report.dates.as_valid_from ? `, ${count(report.dates.as_valid_from)} as valid from, because the journal is already later` : ''}`], ['Left out', count(report.skipped.total)]]),
      Object.keys(report.skipped.by_reason).length > 0 && table('Left out', ['Reason', 'Rows'], Object.entries(report.skipped.by_reason).map(([reason, rows]) => [words(reason), String(rows)])),
      h('p', {}, 'To do it:'), commandLine(`cortex import ${file.name}`));
  } catch (error) {
    show(place, problem(error));
  }
}
