// API: every route with what it takes and gives, from /openapi.json, and a way to try those that only read.

import { get } from '../lib/api.js';
import { h, show } from '../lib/dom.js';
import { card, heading, problem, table } from '../lib/parts.js';
import { capital, counted } from '../lib/text.js';
import { kind, shape } from '../lib/schema.js';

const ANSWER_MAX = 20_000;

/** @param {import('../lib/router.js').Visit} visit */
export async function open({ signal }) {
  const document_ = await get('/openapi.json', {}, signal);
  /** @type {Map<string, HTMLElement[]>} */
  const groups = new Map();
  let total = 0;
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, operation] of Object.entries(/** @type {any} */ (methods))) {
      total += 1;
      const tag = operation.tags?.[0] ?? 'other';
      groups.set(tag, [...(groups.get(tag) ?? []), entry(document_, path, method, operation)]);
    }
  }
  return [
    heading('API', { sub: [`${counted(total, 'operation')} of ${document_.info.title} ${document_.info.version}. For programs: `, h('a', { href: '/openapi.json' }, '/openapi.json')] }),
    [...groups].map(([tag, operations]) => card(capital(tag), operations)),
  ];
}

/**
 * @param {any} whole
 * @param {string} path
 * @param {string} method
 * @param {any} operation
 */
function entry(whole, path, method, operation) {
  const box = h('details', { class: 'operation' }, h('summary', {}, h('span', { class: `method ${method}` }, method.toUpperCase()), h('code', {}, path), h('span', { class: 'quiet' }, operation.summary ?? '')));
  // Built when it is opened: seventy shapes at once would be slow for nothing.
  box.addEventListener('toggle', () => {
    if (box.childElementCount > 1) return;
    const body = Object.entries(operation.requestBody?.content ?? {});
    const answers = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2'));
    const parameters = (operation.parameters ?? []).filter((/** @type {any} */ each) => each.in !== 'header');
    box.append(h('div', {}, operation.description && h('p', {}, operation.description),
      parameters.length > 0 && table('Parameters', ['Parameter', 'In', 'Type', 'Meaning'], parameters.map((/** @type {any} */ each) => [h('code', {}, each.name, each.required ? ' *' : ''), each.in, kind(each.schema), each.description ?? ''])),
      body.map(([media, content]) => [h('p', {}, 'Body, ', h('code', {}, media)), h('pre', { tabindex: 0 }, shape(whole, /** @type {any} */ (content).schema, 0))]),
      answers.map(([status, answer]) => Object.entries(/** @type {any} */ (answer).content ?? {}).map(([media, content]) => [h('p', {}, `${status}: ${/** @type {any} */ (answer).description}, `, h('code', {}, media)), h('pre', { tabindex: 0 }, shape(whole, /** @type {any} */ (content).schema, 0))])),
      method === 'get' && path !== '/api/events' && tryIt(path, parameters)));
  });
  return box;
}

/**
 * @param {string} path
 * @param {any[]} parameters
 */
function tryIt(path, parameters) {
  const result = h('div');
  const fields = new Map(parameters.map((each) => [each.name, { place: each.in, input: /** @type {HTMLInputElement} */ (h('input', { type: 'text', placeholder: each.name, 'aria-label': each.name })) }]));
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    let address = path;
    /** @type {any} */
    const query = {};
    for (const [name, { place, input }] of fields) {
      if (place === 'path') address = address.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value) query[name] = input.value;
    }
    try {
      const text = JSON.stringify(await get(address, query), null, 2);
      show(result, h('pre', { tabindex: 0 }, text.length > ANSWER_MAX ? `${text.slice(0, ANSWER_MAX)}\n… ${text.length - ANSWER_MAX} more characters` : text));
    } catch (error) {
      show(result, problem(error));
    }
  };
  return h('form', { class: 'filters', onsubmit: run }, [...fields.values()].map(({ input }) => input), h('button', { class: 'button small', type: 'submit' }, 'Try it'), result);
}
