// Times as people read them. Pure: the present is always an argument.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/**
 * How long ago, in one or two words; a date once it is more than a month.
 * @param {string | number | null | undefined} when
 * @param {number} now
 */
export function ago(when, now) {
  const at = millis(when);
  if (at === null) return '';
  const past = now - at;
  if (past < -MINUTE) return `in ${span(-past)}`;
  if (past < MINUTE) return 'just now';
  if (past >= DAY && past < 2 * DAY) return 'yesterday';
  if (past < 30 * DAY) return `${span(past)} ago`;
  return date(at, now);
}

/**
 * A duration, rounded down to its largest unit.
 * @param {number} length in milliseconds
 */
export function span(length) {
  if (length < 1_000) return `${Math.max(0, Math.round(length))} ms`;
  if (length < MINUTE) return `${Math.floor(length / 1_000)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)} min`;
  if (length < DAY) return `${Math.floor(length / HOUR)} h`;
  const days = Math.floor(length / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

/**
 * A calendar date in local time; the year only if it is another one.
 * @param {string | number} when
 * @param {number} now
 */
export function date(when, now) {
  const at = millis(when);
  if (at === null) return '';
  const day = new Date(at);
  const year = day.getFullYear() === new Date(now).getFullYear() ? '' : ` ${day.getFullYear()}`;
  return `${day.getDate()} ${MONTHS[day.getMonth()]}${year}`;
}

/**
 * Hours and minutes in local time.
 * @param {string | number} when
 */
export function clock(when) {
  const at = millis(when);
  if (at === null) return '';
  const day = new Date(at);
  return `${two(day.getHours())}:${two(day.getMinutes())}`;
}

/**
 * The whole moment, for titles and details.
 * @param {string | number | null | undefined} when
 */
export function moment(when) {
  const at = millis(when);
  if (at === null) return '';
  const day = new Date(at);
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} ${clock(at)}:${two(day.getSeconds())}`;
}

/**
 * The local calendar day as `2026-11-17`: equal for moments of the same day.
 * @param {string | number} when
 */
export function dayKey(when) {
  return moment(when).slice(0, 10);
}

/**
 * A heading for a day: Today, Yesterday, a weekday within a week, else the date.
 * @param {string} key as `dayKey` gives it
 * @param {number} now
 */
export function dayName(key, now) {
  if (key === dayKey(now)) return 'Today';
  if (key === dayKey(now - DAY)) return 'Yesterday';
  const [year, month, day] = key.split('-').map(Number);
  const noon = new Date(year ?? 0, (month ?? 1) - 1, day ?? 1, 12).getTime();
  const shown = date(noon, now);
  return now - noon < 7 * DAY ? `${WEEKDAYS[new Date(noon).getDay()]}, ${shown}` : shown;
}

/**
 * Keys of the last days, oldest first, today included.
 * @param {number} count
 * @param {number} now
 */
export function lastDays(count, now) {
  const today = new Date(now);
  return Array.from({ length: count }, (_, index) =>
    // The calendar knows that days around a change of clocks have 23 or 25 hours.
    dayKey(new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - index), 12).getTime()));
}

/**
 * @param {string | number | null | undefined} when
 * @returns {number | null}
 */
function millis(when) {
  if (when === null || when === undefined || when === '') return null;
  const at = typeof when === 'number' ? when : Date.parse(when);
  return Number.isNaN(at) ? null : at;
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, '0');
}
