// What to do first: shown in place of Home while nothing is remembered.

import { actions, h, quietLine } from '../lib/dom.js';
import { card, commandLine, heading } from '../lib/parts.js';
import { foundCard } from './past.js';

export function setUp() {
  const steps = [
    ['Connect an agent', 'Adds the memory tools and hooks to its settings. The first command shows the diff, the second makes it.', [
      commandLine('cortex setup claude-code --dry-run'), commandLine('cortex setup claude-code')],
    quietLine('Also codex, gemini-cli, opencode, cursor, vscode and windsurf; ', h('code', {}, 'cortex setup --list'), ' shows how each stands.')],
    ['Bring what you have', 'Memories of claude-mem, mem0, engram, a Markdown vault or another Cortex. A dry run changes nothing.', [
      commandLine('cortex import --dry-run FILE')], null],
    ['Save the first memory', 'Here, or in a terminal.', [
      h('a', { class: 'button primary', href: '/new' }, 'Write it here'), commandLine("cortex save 'My first memory' 'What I want to keep.'")], null],
    ['See that all is well', 'Says what is right, and what to do where it is not.', [commandLine('cortex doctor')], null],
  ];
  return [
    heading('Home', { sub: 'Nothing is remembered yet. Four steps, in any order; all of it stays on this machine.' }),
    h('ol', { class: 'steps' }, steps.map(([title, words, ways, more]) => h('li', {},
      card(String(title), [h('p', {}, String(words)), actions(/** @type {any} */ (ways)), /** @type {any} */ (more)])))),
    foundCard(),
  ];
}
