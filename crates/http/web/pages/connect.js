// The coding agents of this machine: which are there, what connecting one would change, doing it, and taking it back.

import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { actions, button, h, map, pill, quiet, quietLine, show } from '../lib/dom.js';
import { card, coded, commandLine, fillIn } from '../lib/parts.js';
import { counted } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

/** @typedef {{agent: string, title: string, state: string, installed: boolean, configured: boolean, complete: boolean, files: string[], problem?: string}} AgentState */

export function agentsCard() {
  return card('Agents on this machine', agentList());
}

/** All that are installed, each with its way in and out. */
export function agentList() {
  const place = h('div');
  const draw = () => void fillIn(place, async () => {
    /** @type {AgentState[]} */
    const agents = await get('/api/agents');
    const here = agents.filter((each) => each.installed || each.configured);
    const others = agents.filter((each) => !here.includes(each)).map((each) => each.title);
    if (here.length === 0) {
      return [h('p', {}, 'No coding agent was found here. One that is installed later appears in this place, or connect it in a terminal:'),
        actions(commandLine('cortex setup claude-code')), quietLine(`Known: ${others.join(', ')}.`)];
    }
    return [h('ul', { class: 'connections' }, here.map((agent) => row(agent, draw))), quietLine(`Known too, but not found here: ${others.join(', ')}.`)];
  }, 3);
  draw();
  return place;
}

/**
 * @param {AgentState} agent
 * @param {() => void} redraw
 */
function row(agent, redraw) {
  const standing = agent.complete ? pill('good', 'connected') : agent.configured || agent.problem ? pill('warn', agent.state) : null;
  return h('li', {}, h('div', { class: 'grow' }, h('b', {}, agent.title), ' ', standing, agent.problem && h('p', { class: 'bad-text' }, agent.problem)),
    !agent.complete && !agent.problem && button('small primary', () => void preview(agent, redraw), 'Connect…'),
    agent.configured && button('small', () => void disconnect(agent, redraw), 'Disconnect'));
}

const path = (/** @type {AgentState} */ agent) => `/api/agents/${agent.agent}`;

/**
 * Shows to the letter what would be written, and writes it when somebody says so.
 * @param {AgentState} agent
 * @param {() => void} redraw
 */
async function preview(agent, redraw) {
  await attempt(async () => {
    const plan = await send('POST', path(agent), { dry_run: true });
    const body = h('div', { class: 'patches' });
    const connect = button('primary', () => attempt(async () => {
      /** @type {HTMLButtonElement} */ (connect).disabled = true;
      show(connect, 'Connecting …');
      try {
        const done = await send('POST', path(agent), {});
        show(body, outcome(done), actions(button('primary', () => dialog.close(), 'Done')));
        // Behind a dialog nobody reaches what would take it back.
        void dialog.closed.then(() => tell(`${agent.title} is connected.`, () => send('POST', path(agent), { remove: true }), redraw));
      } catch (error) {
        dialog.close();
        throw error;
      } finally {
        redraw();
      }
    }), `Connect ${agent.title}`);
    const changed = plan.files.filter((/** @type {any} */ file) => file.diff);
    show(body, quietLine('This is added to its settings. Everything else stays as it is to the byte, and a copy of each file is kept beside it.'),
      map(changed, (file) => [h('h3', {}, h('code', { class: 'wrap' }, file.path), ' ', quiet(file.action)), patch(file.diff)]),
      actions(connect, button('', () => dialog.close(), 'Cancel')));
    const dialog = openDialog(`Connect ${agent.title}`, body, { wide: true });
  });
}

/** @param {any} done */
function outcome(done) {
  return [done.problem ? h('p', { class: 'verdict bad', role: 'alert' }, `Its settings are written, but the tools do not answer: ${done.problem}`)
    : h('p', { class: 'verdict good' }, `Connected: ${counted(done.tools, 'tool')} answered when it was tried.`),
  h('ul', {}, map(done.notes, (note) => h('li', {}, coded(note))))];
}

/** A change of a file, line by line, without the lines that only name it. @param {string} text */
function patch(text) {
  const lines = text.trimEnd().split('\n').filter((line) => !/^(?:---|\+\+\+|@@|\\ )/.test(line));
  return h('div', { class: 'diff', role: 'region', 'aria-label': 'What changes', tabindex: 0 }, lines.map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
    return h('div', { class: `diff-line ${kind}` }, h('span', { class: 'diff-mark' }, line.slice(0, 1)), h('span', { class: 'diff-text' }, line.slice(1) || ' '));
  }));
}

/**
 * @param {AgentState} agent
 * @param {() => void} redraw
 */
async function disconnect(agent, redraw) {
  await attempt(async () => {
    await send('POST', path(agent), { remove: true });
    tell(`${agent.title} is disconnected; its settings are as before.`, () => send('POST', path(agent), {}), redraw);
    redraw();
  });
}
