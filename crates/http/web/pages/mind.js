// Mind: the jobs that tend the memory, what they would do, what they did, and how to take it back.

import { act } from '../lib/actions.js';
import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { actions, button, h, map, pill, quiet, quietLine } from '../lib/dom.js';
import { card, details, empty, fillIn, heading, table, when } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { bare, capital, count, counted, readiness, words } from '../lib/text.js';
import { span } from '../lib/time.js';
import { attempt, tell } from '../lib/toast.js';
import { diffView } from './memory_versions.js';
import { standingPages } from './standing.js';

/** Memories listed of those that are put away next. */
const DUE = 10;

/** @param {Visit} visit */
export async function open({ signal }) {
  const [answer, runs, due] = await Promise.all([get('/api/mind/jobs', {}, signal), get('/api/mind/runs', { limit: 30 }, signal), get('/api/mind/due', {}, signal)]);
  const bulletins = h('div');
  void fillIn(bulletins, () => history(signal), 3);
  const pages = h('div');
  void fillIn(pages, () => standingPages(signal), 2);
  const { warmup } = answer;
  return [
    heading('Mind', { sub: [h('span', { class: `pill ${warmup.state === 'warm' ? 'good' : 'warn'}` }, readiness(warmup.state)), warmup.last_error ? ` ${warmup.last_error}` : ' It tends the memory by rules; no model is needed.'] }),
    h('div', { class: 'jobs' }, answer.jobs.map(jobCard)),
    answer.breakers.length > 0 && card('Left alone because it keeps failing', table('Breakers', ['What', 'State', 'Failures', 'Last error'],
      map(answer.breakers, (each) => [each.name, words(each.state), String(each.failures), each.last_error ?? '']))),
    due.due.length > 0 && card('Is put away next', h('ul', {}, due.due.slice(0, DUE).map((/** @type {any} */ each) => h('li', { class: 'finding' }, h('div', {}, h('a', { href: `/m/${each.id}` }, h('b', {}, bare(each.title))), quietLine(each.reason)),
      quiet(each.days_left > 0 ? `in ${counted(each.days_left, 'active day')}` : 'with the next run'), button('small', () => void act('add_tag', [each], reload, 'kept'), 'Keep')))),
    { aside: due.due.length + due.more > DUE && quiet(`${count(due.due.length + due.more)} in all`) }),
    card('Questions that stand', pages),
    card('What it changed', runs.runs.length === 0 ? empty('Nothing yet', 'Runs that changed memories are listed here, each with a way back.')
      : table('Runs that changed memories', ['When', 'Job', 'Done', ''], map(runs.runs, (run) => [
        when(run.started_at), h('b', {}, capital(run.job)), run.undone ? pill('', 'taken back') : h('button', { class: 'link', title: run.run, onclick: () => void showRun(run.run) }, run.done ?? run.planned),
        !run.undone && button('small', () => void undo(run.run), 'Take back')]))),
    card('Reports', runs.reports.length === 0 ? empty('No report yet', 'Every run of a job leaves one.')
      : table('Reports', ['When', 'Job', 'Why', 'Took', 'Ended', 'Came to'], map(runs.reports, (report) => [when(report.started_at), h('span', { title: report.run }, capital(report.run.split('-')[0] ?? '')), words(report.cause),
        span(Date.parse(report.ended_at) - Date.parse(report.started_at)), h('span', { class: `pill ${report.ending === 'succeeded' ? 'good' : 'bad'}` }, words(report.ending)), report.summary]))),
    card('Bulletins so far', bulletins),
  ];
}

/** @param {any} job */
function jobCard(job) {
  const run = (/** @type {boolean} */ dry) => attempt(async () => {
    const answer = await send('POST', `/api/mind/jobs/${job.name}/run`, { dry_run: dry });
    if (dry) showPlan(answer);
    else {
      const undoable = answer.report && answer.changes.length > 0;
      tell(answer.report?.summary || answer.text.split('\n')[0], undoable ? () => send('POST', '/api/mind/undo', { run: answer.report.run }) : null, reload);
      reload();
    }
  });
  const pause = async () => {
    const [word, back] = job.paused ? ['resume', 'pause'] : ['pause', 'resume'];
    await attempt(async () => {
      await send('POST', `/api/mind/jobs/${job.name}/${word}`);
      tell(job.paused ? `${job.name} goes on.` : `${job.name} waits.`, () => send('POST', `/api/mind/jobs/${job.name}/${back}`), reload);
      reload();
    });
  };
  return card(capital(job.name), [quietLine(capital(job.about), '.'), details([
    ['Every', span(job.every_seconds * 1000)], ['Next', job.paused ? 'waits until it is resumed' : job.next_at ? when(job.next_at) : ''], ['Ran', `${counted(job.runs, 'time')}${job.failures ? `, ${job.failures} failed` : ''}`],
    ['Last', job.last ? [job.last.summary, ' ', when(job.last.ended_at)] : 'not yet']]),
  actions(button('small', () => void run(true), 'What would it do?'),
    button('small', () => void run(false), 'Run now'), button('small', () => void pause(), job.paused ? 'Resume' : 'Pause'))],
  { aside: h('span', { class: `pill ${job.paused ? 'warn' : job.running ? 'accent' : 'good'}` }, job.paused ? 'paused' : job.running ? 'running' : 'on time') });
}

/** @param {any} answer */
function showPlan(answer) {
  openDialog(`What ${answer.job} would do`, [quietLine(`${counted(answer.examined, 'memory', 'memories')} looked at. Nothing was changed.`),
    answer.changes.length + answer.suggestions.length === 0 ? empty('Nothing to do', answer.text.split('\n')[0] ?? '') : changeList([...answer.changes, ...answer.suggestions])], { wide: true });
}

/** @param {any[]} changes */
function changeList(changes) {
  return h('ul', { class: 'changes' }, changes.map((change) => h('li', {}, change.action && pill('accent', words(change.action)), ' ',
    change.about.map((/** @type {number} */ id) => [h('a', { href: `/m/${id}` }, `#${id}`), ' ']), h('b', {}, change.title ?? ''), quiet(` ${change.reason}`))));
}

/** @param {string} run */
async function showRun(run) {
  await attempt(async () => {
    const answer = await get(`/api/mind/runs/${encodeURIComponent(run)}`);
    openDialog(run, answer.changes.length === 0 ? empty('It changed nothing', '') : changeList(answer.changes), { wide: true });
  });
}

/** @param {string} run */
async function undo(run) {
  await attempt(async () => {
    const answer = await send('POST', '/api/mind/undo', { run });
    const left = answer.left_alone.length > 0 ? ` ${counted(answer.left_alone.length, 'change')} left alone, because somebody changed the memory since.` : '';
    tell(`${counted(answer.changes.length, 'change')} taken back.${left}`, answer.run ? () => send('POST', '/api/mind/undo', { run: answer.run }) : null, reload);
    reload();
  });
}

/** @param {AbortSignal} signal */
async function history(signal) {
  const list = await get('/api/bulletin/history', { limit: 10 }, signal);
  if (list.length === 0) return empty('None yet', 'The first is written when the mind has warmed up.');
  return map(list, (bulletin, index) => h('details', { class: 'operation' },
    h('summary', {}, `Number ${bulletin.number}`, quiet(`${bulletin.words} words, ${bulletin.changes.added.length} new, ${bulletin.changes.removed.length} gone, `, when(bulletin.generated_at))),
    h('div', {}, diffView(list[index + 1]?.text ?? '', bulletin.text))));
}
