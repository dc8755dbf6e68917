// Markdown becomes a tree, and hostile Markdown becomes the letters it is made of.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parse } from '../../../crates/http/web/lib/markdown.js';
import { safeAddress } from '../../../crates/http/web/lib/markdown_inline.js';
import { HOSTILE } from '../fixtures/hostile.mjs';

/** @typedef {import('../../../crates/http/web/lib/markdown.js').MarkNode} MarkNode */

/** A tree in brackets, to compare. @param {MarkNode[]} nodes @returns {string} */
function drawn(nodes) {
  return nodes.map((node) => (node.kind === 'text' ? node.text : `${node.kind}(${node.children ? drawn(node.children) : node.text ?? ''})`)).join('');
}

/** @param {MarkNode[]} nodes @returns {MarkNode[]} */
function all(nodes) {
  return nodes.flatMap((node) => [node, ...all(node.children ?? [])]);
}

const KINDS = new Set(['paragraph', 'quote', 'strong', 'emphasis', 'deleted', 'row', 'text', 'break', 'rule', 'heading', 'inline_code', 'code', 'list', 'item', 'table', 'cell', 'link']);

test('what people write in memories', () => {
  const cases = [
    ['plain', 'paragraph(plain)'], ['a **b** *c* `d` ~~e~~', 'paragraph(a strong(b) emphasis(c) inline_code(d) deleted(e))'],
    ['# Title\ntext', 'heading(Title)paragraph(text)'], ['- a\n- b', 'list(item(a)item(b))'], ['1. a\n2. b', 'list(item(a)item(b))'],
    ['- a\n  - b\n- c', 'list(item(alist(item(b)))item(c))'], ['> a\n> b', 'quote(paragraph(a\nb))'], ['```rust\nlet a = 1;\n```', 'code(let a = 1;)'],
    ['```\nnever closed', 'code(never closed)'], ['---', 'rule()'], ['a  \nb', 'paragraph(abreak()b)'], ['| a | b |\n|---|---|\n| 1 | 2 |', 'table(row(cell(a)cell(b))row(cell(1)cell(2)))'],
    ['snake_case_name and __init__.py', 'paragraph(snake_case_name and __init__.py)'], ['2 * 3 * 4', 'paragraph(2 * 3 * 4)'], ['\\*not\\*', 'paragraph(*not*)'],
    ['[a](https://example.org)', 'paragraph(link(a))'], ['so it is [#12, #40]', 'paragraph(so it is [link(#12), link(#40)])'], ['- #45 [rule] text', 'list(item(link(#45) [rule] text))'], ['see #12 (#13).', 'paragraph(see #12 (#13).)'], ['`a``', 'paragraph(`a``)'], ['- [x] done\n- [ ] open', 'list(item(done)item(open))'],
    ['a\n- b', 'paragraph(a)list(item(b))'], ['a\n\nb', 'paragraph(a)paragraph(b)'], ['', ''],
  ];
  for (const [given, expected] of cases) assert.equal(drawn(parse(given ?? '')), expected, JSON.stringify(given));
});

test('tasks know whether they are done, and numbered lists where they begin', () => {
  const [list] = parse('3. a\n4. b');
  assert.equal(list?.start, 3);
  const items = all(parse('- [x] a\n- [ ] b\n- c')).filter((node) => node.kind === 'item');
  assert.deepEqual(items.map((node) => node.checked), [true, false, null]);
});

// W20
test('no hostile text becomes an address that runs, a picture, or an unknown kind of node', () => {
  for (const text of HOSTILE) {
    for (const node of all(parse(text))) {
      assert.ok(KINDS.has(node.kind), node.kind);
      if (node.kind === 'link') assert.match(node.href ?? '', /^(?:https?:\/\/[^/\\]|mailto:|\/m\/\d|\/search|\/memories)/, text);
    }
  }
});

test('every letter of a plain text is kept', () => {
  for (const text of HOSTILE.filter((each) => !/[[\]`|#>*\\~_-]/.test(each) && !each.includes('\n'))) {
    const letters = all(parse(text)).filter((node) => node.kind === 'text').map((node) => node.text).join('');
    assert.equal(letters.trim(), text.trim());
  }
});

test('addresses', () => {
  for (const good of ['https://example.org/a?b=c#d', 'http://localhost:7438', 'mailto:a@example.org', '/m/12', '/search?q=a']) assert.equal(safeAddress(good), good);
  assert.equal(safeAddress('cortex://default/Fact/12#3'), '/m/12@3');
  for (const bad of ['javascript:alert(1)', 'JAVASCRIPT:1', 'data:text/html,x', '//evil.example', '/\\evil.example', 'https:evil', '/api/observations', '', 'vbscript:x', 'https://a b', '\u200bjavascript:x', 'cortex://default/Fact/1#1"']) assert.equal(safeAddress(bad), null, bad);
});

test('hostile nesting and hostile lengths take no time', () => {
  const texts = ['*a '.repeat(30_000), '> '.repeat(5_000), '['.repeat(50_000), '`'.repeat(50_001) + 'a', '**'.repeat(20_000), '- '.repeat(5_000), '|'.repeat(20_000), '![['.repeat(6_000), '_a_ '.repeat(4_000), '<'.repeat(50_000)];
  for (const text of texts) {
    const started = performance.now();
    parse(text);
    const took = performance.now() - started;
    assert.ok(took < 2_000, `${text.slice(0, 12)}… took ${Math.round(took)} ms`);
  }
});
