// What to do first: shown in place of Home while nothing is remembered.

import { actions, h, quietLine } from '../lib/dom.js';
import { card, commandLine, heading } from '../lib/parts.js';
import { agentList } from './connect.js';
import { foundSessions } from './past.js';

export function setUp() {
  /** @type {[string, string, Child][]} */
  const steps = [
    ['Connect an agent', 'It gets tools to save and to search, and is told what matters when a session begins. You see what changes before it does.', agentList()],
    ['Read what agents did before', 'What Claude Code, Codex and others wrote down in your home, as one history you can ask.', foundSessions()],
    ['Save the first memory', 'Here, or in a terminal.', actions(h('a', { class: 'button primary', href: '/new' }, 'Write it here'), commandLine("cortex save 'My first memory' 'What I want to keep.'"))],
    ['Bring memories along', 'From claude-mem, mem0, engram, a Markdown vault or another Cortex. You see what a file would bring before it does.',
      actions(h('a', { class: 'button', href: '/transfer' }, 'Choose a file'), commandLine('cortex import --dry-run FILE'))],
  ];
  return [
    heading('Home', { sub: 'Nothing is remembered yet. Four steps, in any order; all of it stays on this machine.' }),
    h('ol', { class: 'steps' }, steps.map(([title, words, way]) => h('li', {}, card(title, [h('p', {}, words), way])))),
    quietLine('Something does not work? ', h('code', {}, 'cortex doctor'), ' says what is right, and what to do where it is not.'),
  ];
}
