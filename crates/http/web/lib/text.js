// Numbers and names as text. Pure.

/** @param {number} value */
export function count(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/**
 * `1 memory`, `2 memories`.
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** @param {number} value */
export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let unit = -1;
  do {
    size /= 1024;
    unit += 1;
  } while (size >= 1024 && unit < units.length - 1);
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/**
 * What a text costs a model, estimated: four characters of Latin script are about one token, others about one each.
 * @param {string} text
 */
export function tokens(text) {
  let narrow = 0;
  let wide = 0;
  for (const letter of text) {
    if (/** @type {number} */ (letter.codePointAt(0)) < 0x2e80) narrow += 1;
    else wide += 1;
  }
  return Math.ceil(narrow / 4) + wide;
}

/** @param {string} root */
export function shortRoot(root) {
  return root.length > 16 ? `${root.slice(0, 8)}…${root.slice(-6)}` : root;
}

/** A title on one line of plain text: marks of code are taken out. @param {string | null | undefined} title */
export function bare(title) {
  return (title ?? '').replaceAll('`', '');
}

/** @param {string} word `relates_to` as `relates to` */
export function words(word) {
  return word.replaceAll('_', ' ');
}

/** @param {string} word */
export function capital(word) {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** How ready the mind is, in words. @type {{[state: string]: string}} */
const READINESS = { warm: 'ready', cold: 'not ready yet', warming: 'getting ready', degraded: 'not well' };

/** @param {string} state */
export function readiness(state) {
  return READINESS[state] ?? words(state);
}

/** What an audit finds, as a heading. @type {{[problem: string]: string}} */
const NAMES = {
  secret: 'Possible secrets', contradicting: 'Contradictions', disagreeing: 'Alike, but saying different things', copied: 'Copies', alike: 'Nearly the same', outdated: 'Past their date',
  prompt: 'Questions kept as answers', vague: 'Too short to be useful', unused: 'Never used', unplaced: 'Without a project', projects: 'Project names that look alike',
};

/** @param {string} problem */
export function problemName(problem) {
  return NAMES[problem] ?? capital(words(problem));
}
