// Sessions as a coding agent writes them down, in the home of a person: what the page of the past shows in tests and pictures.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = '/src/atlas-api';

/**
 * @param {string} home
 * @param {number} [now]
 */
export function writeSessions(home, now = Date.now()) {
  const folder = join(home, '.claude', 'projects', '-src-atlas-api');
  mkdirSync(folder, { recursive: true });
  for (const [name, lines] of [['slow-import', slowImport(now)], ['seat-map', seatMap(now)]]) {
    writeFileSync(join(folder, `${name}.jsonl`), /** @type {any[]} */ (lines).map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}

/**
 * @param {string} session
 * @param {number} start
 */
function speaker(session, start) {
  let number = 0;
  const frame = (/** @type {number} */ minute) => ({ uuid: `${session}-${number += 1}`, sessionId: session, cwd: FOLDER, gitBranch: 'main', version: '2.0.1', timestamp: new Date(start + minute * 60_000).toISOString() });
  return {
    title: (/** @type {string} */ text) => ({ type: 'ai-title', aiTitle: text, sessionId: session }),
    asks: (/** @type {number} */ minute, /** @type {string} */ text) => ({ ...frame(minute), type: 'user', message: { role: 'user', content: text } }),
    says: (/** @type {number} */ minute, /** @type {string} */ text) => ({ ...frame(minute), type: 'assistant', message: { id: `m${number}`, role: 'assistant', content: [{ type: 'text', text }] } }),
    uses: (/** @type {number} */ minute, /** @type {string} */ id, /** @type {string} */ tool, /** @type {any} */ input) => ({ ...frame(minute), type: 'assistant', message: { id: `m${number}`, role: 'assistant', content: [{ type: 'tool_use', id, name: tool, input }] } }),
    gets: (/** @type {number} */ minute, /** @type {string} */ id, /** @type {string} */ text, isError = false) => ({ ...frame(minute), type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text, is_error: isError }] } }),
  };
}

/** @param {number} now */
function slowImport(now) {
  const who = speaker('slow-import', now - 26 * 3_600_000);
  return [
    who.title('Find out why the nightly import is slow'),
    who.asks(0, 'The nightly import takes six hours. Find out where the time goes before you change anything.'),
    who.uses(1, 't1', 'Bash', { command: 'perf record -g cargo run --release --bin import -- sample.json' }),
    who.gets(3, 't1', 'perf: 81% serde_json::de, 11% validate, 8% insert'),
    who.says(4, 'Four fifths of the time is **JSON parsing**; inserting is only 8%. I would try `simd-json` on the sample before anything else.'),
    who.asks(9, 'Try it, but keep the old parser behind a flag.'),
    who.uses(10, 't2', 'Edit', { file_path: `${FOLDER}/src/import/row.rs`, old_string: 'serde_json::from_slice(&line)?', new_string: 'simd_json::from_slice(&mut line)?' }),
    who.gets(10, 't2', 'done'),
    who.uses(11, 't3', 'Bash', { command: 'cargo test -p import' }),
    who.gets(13, 't3', 'error[E0596]: cannot borrow `line` as mutable', true),
    who.uses(14, 't4', 'Bash', { command: 'cargo test -p import' }),
    who.gets(16, 't4', 'test result: ok. 41 passed'),
    who.says(17, 'It parses **3.4 times as fast**, and all 41 tests pass. The flag is `--parser serde`.\n\n- `src/import/row.rs` takes the line by value now\n- the borrowed mode would give another 20%'),
  ];
}

/** @param {number} now */
function seatMap(now) {
  const who = speaker('seat-map', now - 5 * 3_600_000);
  return [
    who.title('Seat map with the keyboard'),
    who.asks(0, 'Make the seat map work with the keyboard. 400 seats.'),
    who.says(2, 'I would draw it as an SVG with real buttons: 400 of them take about 6 ms, and focus comes for free.'),
    who.asks(5, 'Good. What about screen readers?'),
    who.says(6, 'Each button says its row, its number and whether it is free, such as *row 4, seat 12, free*.'),
  ];
}
