// API: every route with what it takes and gives, from /openapi.json. What only reads can be tried here; for the rest there
// is a command with the example in it, because the page could not take it back.

import { get } from '../lib/api.js';
import { h, input, map, quiet, show } from '../lib/dom.js';
import { card, coded, commandLine, heading, problem, table } from '../lib/parts.js';
import { capital, counted } from '../lib/text.js';
import { kind, shape } from '../lib/schema.js';

const ANSWER_MAX = 20_000;

/** @param {Visit} visit */
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
  const box = h('details', { class: 'operation' }, h('summary', {}, h('span', { class: `method ${method}` }, method.toUpperCase()), h('code', {}, path), quiet(coded(operation.summary ?? ''))));
  // Built when it is opened: seventy shapes at once would be slow for nothing.
  box.addEventListener('toggle', () => {
    if (box.childElementCount > 1) return;
    const body = Object.entries(operation.requestBody?.content ?? {});
    const answers = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2'));
    const parameters = (operation.parameters ?? []).filter((/** @type {any} */ each) => each.in !== 'header');
    box.append(h('div', {}, operation.description && h('p', {}, coded(operation.description)),
      parameters.length > 0 && table('Parameters', ['Parameter', 'In', 'Type', 'Meaning'], map(parameters, (each) => [h('code', {}, each.name, each.required ? ' *' : ''), each.in, kind(each.schema), coded(each.description ?? '')])),
      body.map(([media, content]) => [h('p', {}, 'Body, ', h('code', {}, media)), h('pre', { tabindex: 0 }, shape(whole, /** @type {any} */ (content).schema, 0))]),
      commandLine(operation['x-codeSamples'][0].source),
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
  const fields = new Map(parameters.map((each) => [each.name, { place: each.in, input: input({ type: 'text', placeholder: each.name, 'aria-label': each.name, value: each.in === 'path' ? String(each.example ?? '') : '' }) }]));
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
