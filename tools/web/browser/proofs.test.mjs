// W24: the verifier of the page agrees with the kernel on a thousand proofs, and refuses a thousand altered ones.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { check, fromBase64 } from '../../../crates/http/web/lib/proof.js';
import { openBrowser, startDaemon } from '../harness.mjs';
import { seed } from '../seed.mjs';

const PROOFS = 1_000;

/** @type {Awaited<ReturnType<typeof startDaemon>>} */
let daemon;
/** @type {Awaited<ReturnType<typeof openBrowser>>} */
let session;

before(async () => {
  daemon = await startDaemon();
  session = await openBrowser(daemon);
  await seed(session.ask);
});

after(async () => {
  await session?.browser.close();
  await daemon?.stop();
});

test('it agrees with the kernel on a thousand proofs, and on a thousand altered ones', async () => {
  const { ask, context } = session;
  const judge = async (/** @type {Uint8Array} */ file) => {
    const answer = await context.request.post(`${daemon.base}/api/proofs/verify`, { data: { proof: Buffer.from(file).toString('base64') }, headers: { 'content-type': 'application/json', origin: daemon.base }, timeout: 120_000 });
    return answer.ok() ? answer.json() : null;
  };
  const { entries } = await ask('/api/stats');
  let held = 0;
  let refused = 0;
  for (let number = 0; number < PROOFS; number += 1) {
    // Memories, entries that are none, and ids far beyond; each proof once as it is and once with a bit turned.
    const id = number < entries ? number + 1 : number * 7_919;
    const file = fromBase64((await ask(`/api/observations/${id}/proof`)).proof);
    const [ours, kernel] = [await check(file), await judge(file)];
    assert.ok(kernel, `${id}: the kernel refuses its own proof`);
    assert.deepEqual([ours.root, ours.size, ours.actor, ours.claim, ours.title, ours.content], [kernel.root, kernel.size, kernel.actor, kernel.claim, kernel.memory?.title ?? '', kernel.memory?.content ?? '']);
    held += 1;
    const altered = file.slice();
    const at = (number * 131) % altered.length;
    altered[at] = /** @type {number} */ (altered[at]) ^ (1 << (number % 8));
    const [mine, theirs] = [await check(altered).catch(() => null), await judge(altered)];
    // Both refuse, or both read the same other claim; never the one that was altered.
    assert.equal(mine?.root ?? null, theirs?.root ?? null, `${id} altered at ${at}`);
    if (mine) assert.notDeepEqual([mine.root, mine.id], [ours.root, ours.id]);
    else refused += 1;
  }
  assert.equal(held, PROOFS);
  assert.ok(refused > PROOFS / 2, `${refused} were refused`);
});
