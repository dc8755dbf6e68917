// What happened to memories, in words. The stream says only that something happened; what it says of a memory is asked
// for here, for many events at once, as whoever looks may read it.

import { get } from './api.js';

/** Entries that are asked for at once; what is older stays without its line. */
const LINES_MAX = 200;

/** What each event did, after the name of who did it. @type {{[event: string]: string}} */
export const DID = {
  saved: 'saved', updated: 'wrote a new version of', changed: 'changed', forgotten: 'forgot', restored: 'brought back', erased: 'erased',
  related: 'related', unrelated: 'took apart', session_started: 'began a session', session_ended: 'ended a session', prompted: 'was asked',
  job: 'ran a job', attested: 'said how work ended', access: 'changed who may see', kept: 'kept a snapshot', other: 'wrote',
  told: 'was told', many: 'wrote many entries',
};

/** Who did it, in words: what is done on this page is done by whoever looks at it. @param {string | null | undefined} by */
export function who(by) {
  return by === 'page' ? 'you' : by === 'http' ? 'a program' : by || 'somebody';
}

/** What an entry of the journal is called on the stream. @type {{[kind: string]: string}} */
const EVENTS = {
  write: 'saved', update: 'updated', update_head: 'changed', tombstone: 'forgotten', restore: 'restored', erase: 'erased', add_edge: 'related',
  remove_edge: 'unrelated', session_start: 'session_started', session_end: 'session_ended', prompt: 'prompted', mind_run: 'job', attest: 'attested', snapshot: 'kept',
  scope_grant: 'access', scope_revoke: 'access', scope_violation: 'access',
};

/**
 * What happened lately, as the stream would have told it, newest first.
 * @param {number} most
 * @param {AbortSignal} signal
 */
export async function lately(most, signal) {
  const [{ entries }, { tellings }] = await Promise.all([get('/api/activity', { limit: most }, signal), get('/api/tellings', { limit: most }, signal)]);
  const happened = entries.filter((/** @type {any} */ entry) => entry.kind !== 'touch').map((/** @type {any} */ entry) => (
    { tract: 'memory', event: EVENTS[entry.kind] ?? 'other', ts: Date.parse(entry.at), seq: entry.seq, by: entry.by, id: entry.memory_id, entry }));
  const told = tellings.map((/** @type {any} */ telling) => ({ tract: 'memory', event: 'told', ts: Date.parse(telling.at), ...telling, count: telling.total }));
  return [...happened, ...told].sort((a, b) => b.ts - a.ts).slice(0, most);
}

/** How somebody was told. @type {{[operation: string]: string}} */
export const TOLD_BY = {
  search: 'searched', get: 'opened', context: 'got its context', bundle: 'got a briefing', bulletin: 'got the bulletin', memory_recall: 'recalled',
  session_start: 'began a session', prompt: 'was asked', tool: 'was about to use',
};

/**
 * Adds to events what may be read about them: the `entry`, and of tellings `question` and `memories`.
 * @param {any[]} events those of the tract `memory`
 * @param {AbortSignal} [signal]
 */
export async function explain(events, signal) {
  const seqs = events.filter((event) => event.seq).map((event) => event.seq);
  const numbers = events.filter((event) => event.event === 'told').map((event) => event.number);
  const [lines, tellings] = await Promise.all([
    seqs.length > 0 ? get('/api/activity', { after: Math.max(Math.min(...seqs) - 1, Math.max(...seqs) - LINES_MAX, 0), limit: LINES_MAX }, signal) : { entries: [] },
    numbers.length > 0 ? get('/api/tellings', { after: Math.min(...numbers) - 1, limit: LINES_MAX }, signal) : { tellings: [] },
  ]);
  const bySeq = new Map(lines.entries.map((/** @type {any} */ entry) => [entry.seq, entry]));
  const byNumber = new Map(tellings.tellings.map((/** @type {any} */ telling) => [telling.number, telling]));
  return events.map((event) => {
    const telling = event.event === 'told' ? byNumber.get(event.number) : null;
    const entry = event.seq ? bySeq.get(event.seq) : null;
    return { ...event, ...(entry && { entry }), question: telling?.question ?? '', memories: telling?.memories ?? [], project: telling?.project ?? '' };
  });
}
