// Fills an empty home with memories that look like those of a small team, over HTTP.
//
// What was written before this moment comes in as an import, because only an import keeps dates and names; the rest comes in
// as a save, prompts, relations and changes.
// `node seed.mjs http://127.0.0.1:7438` does it by hand.

/** @typedef {[string, string, string, string, string[]]} Row kind, project, title, content, tags */

/** @type {Row[]} */
const ROWS = [
  ['decision', 'atlas-api', 'Use Postgres advisory locks for the job queue',
    'A second broker is not worth it at **40 jobs/s**.\n\n- `pg_try_advisory_lock` per shard\n- workers poll every 250 ms\n\nSee `src/queue/lock.rs`.', ['queue', 'postgres']],
  ['bugfix', 'atlas-api', 'Login failed on an empty password',
    'The check came *after* the hash, so `bcrypt` got an empty string and panicked.\n\n```rust\nif password.is_empty() {\n    return Err(AuthError::Empty);\n}\n```\n\nFixed in `src/auth.rs`, with a test.', ['auth']],
  ['rule', 'atlas-api', 'Never acknowledge a write before fsync', 'An answer is a promise. The disk must have it first.', ['durability']],
  ['discovery', 'atlas-api', 'The nightly import spends 80% of its time in JSON parsing',
    'Measured with `perf record` over 1.2 million rows.\n\n| step | share |\n|---|---|\n| parse | 81% |\n| validate | 11% |\n| insert | 8% |', ['performance', 'import']],
  ['goal', 'atlas-api', 'Cut the nightly import from six hours to one', 'Owner: Radia. Parsing first, then batching inserts.', ['import']],
  ['pattern', 'atlas-api', 'Retries go through `backoff::Policy`, never a bare loop', 'Seen in `src/http/client.rs`, `src/mail.rs` and `src/queue/worker.rs`. Jitter is on by default.', ['retries']],
  ['architecture', 'atlas-api', 'Requests pass guard, session, handler in this order', '1. guard: host, origin, token\n2. session: who asks\n3. handler: one operation\n\nNothing reads the body before the guard has answered.', ['http']],
  ['config', 'atlas-api', 'Staging reads DATABASE_URL from the vault', 'The variable `DATABASE_URL` is set by the deploy step; the file `.env` is for local work only.', ['deploy']],
  ['decision', 'atlas-api', 'Rate limits are per tenant, not per address', 'Offices share one address, so per-address limits hit the wrong people.\n\n> Support had 14 tickets about this in October.', ['limits']],
  ['bugfix', 'atlas-api', 'Pagination skipped a row when two had the same time', 'The cursor was `created_at` alone. It is `(created_at, id)` now. See `src/list.rs`.', ['pagination']],
  ['learning', 'atlas-api', 'tokio::select! drops the losing branch, also half-done writes', 'A write inside a losing branch is lost. Move it into a task and await the handle: `tokio::spawn`.', ['rust', 'async']],
  ['preference', 'harbor-web', 'Small pull requests with a test each', 'At most 300 lines. The reviewer should be done before the coffee is.', ['review']],
  ['decision', 'harbor-web', 'Server-rendered pages with islands, no single-page app', 'First paint on a cheap phone went from 3.1 s to 0.9 s in the prototype.', ['frontend']],
  ['bugfix', 'harbor-web', 'Double booking when two tabs confirm at once', 'The confirm button sent no version. It sends `If-Match` now and shows the other booking on conflict.', ['booking']],
  ['discovery', 'harbor-web', 'Safari ignores `gap` in our old grid polyfill', 'Removing the polyfill fixed it; all supported browsers have grid now.', ['css', 'safari']],
  ['rule', 'harbor-web', 'Customer data stays in the EU', 'Logs and backups too. Applies to every new service, before it is deployed.', ['privacy']],
  ['config', 'harbor-web', 'Images are resized by `imgproxy`, at most 2000 px wide', 'URL signing key is in the vault under `imgproxy/key`. Quality 82 looked the same as 90 in a blind test.', ['images']],
  ['learning', 'harbor-web', 'Translations with HTML in them break the extractor', 'Use placeholders: `{link}` instead of `<a>`. See `tools/i18n/extract.ts`.', ['i18n']],
  ['goal', 'harbor-web', 'All forms usable with the keyboard alone by December', 'Left: date picker, seat map, upload.', ['accessibility']],
  ['pattern', 'harbor-web', 'Feature flags are read once per request', 'Reading them twice gave half-switched pages. `flags.snapshot(req)` in the first middleware.', ['flags']],
  ['decision', 'harbor-web', 'Playwright instead of Cypress', 'Three browsers, parallel by default, and traces that can be opened later.', ['testing']],
  ['bugfix', 'harbor-web', 'Dates were a day off west of Greenwich', '`new Date("2026-03-01")` is midnight UTC. Parse the parts instead. See `src/lib/dates.ts`.', ['dates']],
  ['fact', 'ledger', 'Amounts are integers in minor units', 'Never floats. The currency says how many digits: JPY 0, EUR 2, TND 3.', ['money']],
  ['decision', 'ledger', 'Double entry: every posting has two sides that sum to zero', 'The database checks it with a deferred constraint, so no code path can forget.', ['money', 'postgres']],
  ['bugfix', 'ledger', 'Rounding lost a cent on three-way splits', '100 / 3 three times is 99. The remainder goes to the first share now.', ['money']],
  ['rule', 'ledger', 'Postings are never edited, only reversed', 'Auditors read the journal. A correction is a new posting with `reverses = id`.', ['audit']],
  ['discovery', 'ledger', 'The bank sends booking dates in local time', 'Around midnight they fall on the wrong day. Converted with `Europe/Amsterdam` on import.', ['dates', 'import']],
  ['learning', 'ledger', 'Serializable isolation needs a retry loop', 'About 0.4% of transactions fail with `40001` under load. Three attempts are enough.', ['postgres']],
  ['goal', 'ledger', 'Close the month in one day instead of four', 'Reconciliation is the slow step. Matching rules first.', ['reconciliation']],
  ['architecture', 'ledger', 'Reports read from a replica that may lag two seconds', 'Screens that follow a write read from the primary. `Db::after_write()` chooses.', ['postgres']],
  ['config', 'ledger', 'VAT tables are in `config/vat.toml`, one entry per country and date', 'Old rates stay: an invoice of 2020 must come out the same today.', ['tax']],
  ['preference', 'ledger', 'Error messages name the account and the amount', 'Support must be able to act on a screenshot.', ['errors']],
  ['bugfix', 'ops', 'Disk filled because journald kept everything', 'Set `SystemMaxUse=2G`. An alert now comes at 80%.', ['disk']],
  ['decision', 'ops', 'One region, two zones, restore tested monthly', 'A second region costs more than the hours we would lose once in ten years.', ['backup']],
  ['discovery', 'ops', 'Restores take 38 minutes for 210 GB', 'Measured on 3 November from the object store. Replay of the log is half of it.', ['backup']],
  ['rule', 'ops', 'Every alert has a runbook link', 'An alert without one is deleted after a week.', ['alerts']],
  ['learning', 'ops', 'OOM kills do not show in the unit log', 'Look in `dmesg` or at `memory.events` of the cgroup.', ['linux']],
  ['pattern', 'ops', 'Deploys on Friday cause twice the rollbacks', 'From 214 deploys this year: 9.1% against 4.3%.', ['deploy']],
  ['config', 'ops', 'TLS certificates renew at 30 days, by `lego`', 'The timer is `lego-renew.timer`; failures page the person on call.', ['tls']],
  ['decision', 'ops', 'Metrics for 13 months, logs for 30 days', 'Long enough to compare a month with the year before.', ['retention']],
  ['bugfix', 'ops', 'Cron ran twice on the day clocks changed', 'Timers are in UTC now.', ['dates']],
  ['fact', 'ops', 'The office link is 1 Gbit/s with a 5G fallback', 'Provider change planned for March.', ['network']],
  ['identity', '', 'Works as platform engineer at a logistics company in Rotterdam', 'Time zone Europe/Amsterdam. Meetings before nine are declined.', ['me']],
  ['preference', '', 'Answers first, then the reasons', 'Short sentences. No lists of three when one will do.', ['style']],
  ['preference', '', 'Uses Neovim and the terminal, no IDE plugins', 'Show commands, not screenshots of menus.', ['tools']],
];

/** @type {Row[]} */
const TODAY = [
  ['decision', 'atlas-api', 'Cache keys carry the tenant', '**Why**: two tenants shared `settings:theme` and saw each other\'s colours.\n\n```diff\n- settings:theme\n+ t:{tenant}:settings:theme\n```\n\nTouches `src/cache.rs` and `src/settings.rs`.', ['cache']],
  ['bugfix', 'atlas-api', 'Health check kept the idle database awake', 'It ran `SELECT 1` every second. It asks the pool now, which costs nothing.', ['postgres']],
  ['discovery', 'atlas-api', 'simd-json parses our rows 3.4 times as fast as serde_json', 'On the import sample, one core. The borrowed mode gives another 20%, at the price of lifetimes in `src/import/row.rs`.', ['performance', 'import']],
  ['learning', 'harbor-web', 'View transitions need unique names on the page', 'Two cards with the same `view-transition-name` cancel the whole animation, without a message.', ['css']],
  ['decision', 'harbor-web', 'Seat map is an SVG with real buttons', 'Canvas was faster to draw and unusable without a mouse. 400 seats as SVG take 6 ms.', ['accessibility', 'booking']],
  ['bugfix', 'ledger', 'Export wrote a comma as the decimal separator', 'The locale of the worker leaked into the CSV. Numbers are formatted without locale now, in `src/export/csv.rs`.', ['export']],
  ['fact', 'ledger', 'The auditor wants the journal root of each month', 'One line in the closing letter: root and number of entries. `cortex snapshot` makes it.', ['audit']],
  ['decision', 'ops', 'Logs for 14 days are enough', 'Storage is the largest item of the bill.', ['retention']],
  ['bugfix', 'harbor-web', 'Fixed the date thing', 'Works now.', []],
  ['decision', 'harborweb', 'Playwright instead of Cypress', 'Three browsers, parallel by default, and traces that can be opened later.', ['testing']],
];
/** How many minutes ago each of them was saved. */
const MINUTES_AGO = [431, 394, 352, 301, 268, 219, 171, 122, 74, 38];

/** What the first memory of today said in its later versions, and how many minutes ago that was written. @type {[string, number][]} */
const LATER = [
  ['**Why**: two tenants shared `settings:theme` and saw each other\'s colours.\n\n```diff\n- settings:theme\n+ t:{tenant}:settings:theme\n```\n\nTouches `src/cache.rs`, `src/settings.rs` and the admin page.', 205],
  ['**Why**: two tenants shared `settings:theme` and saw each other\'s colours.\n\n```diff\n- settings:theme\n+ t:{tenant}:settings:theme\n```\n\nTouches `src/cache.rs`, `src/settings.rs` and the admin page.\n\n- [x] old keys expire after an hour\n- [ ] remove the fallback in December', 57],
];

/** @type {{[project: string]: {id: string, agent: string, minutesAgo: number, summary: string | null}}} */
const SESSIONS = {
  'atlas-api': { id: 'sess-atlas-41', agent: 'claude-code', minutesAgo: 440, summary: null },
  'harbor-web': { id: 'sess-harbor-12', agent: 'codex', minutesAgo: 310, summary: null },
};

const PROMPTS = [
  ['why is the nightly import so slow?', 'atlas-api'],
  ['two tenants see each other\'s colours, find out why', 'atlas-api'],
  ['make the seat map work with the keyboard', 'harbor-web'],
];

/** @type {Record<string, string>} what our own export calls the type of a kind */
const TYPES = {
  decision: 'Decision', bugfix: 'Fact', rule: 'Constraint', discovery: 'Fact', goal: 'Goal', pattern: 'Pattern',
  architecture: 'Decision', config: 'Fact', learning: 'Fact', preference: 'Preference', fact: 'Fact', identity: 'Identity',
};
const SPAN_DAYS = 34;
const AGENTS = ['claude-code', 'codex', 'cursor'];

/**
 * @param {(path: string, init?: RequestInit) => Promise<any>} ask sends one request and gives the JSON of its answer
 * @param {number} now
 */
export async function seed(ask, now = Date.now()) {
  const post = (/** @type {string} */ path, /** @type {any} */ body) =>
    ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  await ask('/api/import?from=cortex', {
    method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body: past(now),
  });
  await post('/api/observations', { type: 'rule', project: 'ops', title: 'No secrets in environment dumps', content: 'Crash reports include the environment. Names only, never values.', tags: ['privacy'] });
  for (const [content, project] of PROMPTS) await post('/api/prompts', { content, project, session_id: SESSIONS[project]?.id });
  const list = await ask('/api/observations?limit=200&preview=1');
  const find = (/** @type {string} */ start) => list.find((/** @type {any} */ m) => m.title.startsWith(start))?.id;
  const relate = (/** @type {string} */ from, /** @type {string} */ relation, /** @type {string} */ to) =>
    post('/api/graph/edges', { from_obs_id: find(from), to_obs_id: find(to), relation_type: relation });
  await relate('simd-json', 'relates_to', 'The nightly import');
  await relate('simd-json', 'part_of', 'Cut the nightly');
  await relate('The nightly import', 'part_of', 'Cut the nightly');
  await relate('Cache keys carry', 'follows', 'Rate limits are per');
  await relate('Cache keys carry', 'relates_to', 'Requests pass guard');
  await relate('Cache keys carry', 'caused_by', 'Staging reads');
  await relate('Seat map is', 'part_of', 'All forms usable');
  await relate('Seat map is', 'references', 'Double booking');
  await relate('The auditor wants', 'follows', 'Postings are never');
  await relate('Export wrote a comma', 'relates_to', 'Rounding lost');
  await relate('Logs for 14 days', 'contradicts', 'Metrics for 13 months');
  await relate('Health check kept', 'relates_to', 'Use Postgres advisory');
  for (const start of ['Never acknowledge', 'Customer data stays', 'Works as platform']) {
    await ask(`/api/observations/${find(start)}/pin`, { method: 'PUT' });
  }
  await post(`/api/observations/${find('The office link')}/archive`, { reason: 'the provider changes in March' });
  await ask(`/api/observations/${find('Safari ignores')}?reason=no+longer+supported`, { method: 'DELETE' });
  await post('/api/sessions/sess-harbor-12/end', { summary: 'Seat map rewritten as SVG; view transitions fixed.' });
}

/** What was before this moment, in our own export format: one JSON object per line. */
function past(/** @type {number} */ now) {
  const [minute, day] = [60_000, 86_400_000];
  const iso = (/** @type {number} */ millis) => new Date(millis).toISOString();
  /** @type {any[]} */
  const all = [{ record: 'header', cortex_export: 1, actor: 'default', store: 'seed', exported_at: iso(now), all: true }];
  for (const [project, { id, agent, minutesAgo, summary }] of Object.entries(SESSIONS)) {
    all.push({ record: 'session', session: id, project, directory: `/src/${project}`, agent, started: iso(now - minutesAgo * minute), ended: null, summary });
  }
  const add = (/** @type {Row} */ [kind, project, title, content, tags], /** @type {number} */ id, /** @type {string} */ by, /** @type {number} */ at, /** @type {[string, number][]} */ later, /** @type {string | null} */ session) => {
    const versions = /** @type {[string, number][]} */ ([[content, at], ...later]).map(([text, when], index) => ({
      version: index + 1, title, content: text, fields: {}, by, created: iso(when), confidence: 1, source: 'user', derived_from: [] }));
    const revised = versions.at(-1)?.created;
    all.push({
      record: 'memory', id, type: TYPES[kind], kind, project: project || null,
      // What is older is the owner's alone, so that tests see what others are not shown.
      scope: project ? 'project' : 'personal', visibility: id > ROWS.length ? 'scoped' : 'private', pinned: false, archived: false, forgotten: null,
      tags: [...tags].sort(), topic_key: null, session, channel: null, importance: 0.5, duplicates: 0,
      created: iso(at), updated: revised, revised, accesses: id % 5, last_access: null, citations: 0, version: versions.length, versions,
    });
  };
  ROWS.forEach((row, index) => {
    // Busier towards the end, with quiet days between: a square root spreads them so.
    const share = Math.sqrt((index + 1) / (ROWS.length + 1));
    add(row, index + 1, AGENTS[index % 3] ?? '', now - day * SPAN_DAYS * (1 - share) - day - ((index * 7919) % 50_000) * 100, [], null);
  });
  TODAY.forEach((row, index) => {
    const session = SESSIONS[row[1]];
    const later = index === 0 ? LATER.map(([text, ago]) => /** @type {[string, number]} */ ([text, now - ago * minute])) : [];
    add(row, ROWS.length + index + 1, session?.agent ?? 'cursor', now - (MINUTES_AGO[index] ?? 0) * minute, later, session?.id ?? null);
  });
  all.push({ record: 'end', memories: ROWS.length + TODAY.length, edges: 0, sessions: Object.keys(SESSIONS).length, prompts: 0 });
  return all.map((line) => JSON.stringify(line)).join('\n') + '\n';
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const base = process.argv[2] ?? 'http://127.0.0.1:7438';
  await seed(async (path, init) => {
    const answer = await fetch(base + path, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  });
}
