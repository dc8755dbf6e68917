// The keyboard: letters act unless somebody is typing; j and k move the focus through rows.

/** @type {{[key: string]: (row: HTMLElement | null) => void}} */
let ofPage = {};
/** @type {{[key: string]: () => void}} */
let ofShell = {};
/** The first of two keys, such as `g` of `g h`. */
let before = '';

/** @param {{[key: string]: (row: HTMLElement | null) => void}} keys what the page that is open understands */
export function setPageKeys(keys) {
  ofPage = keys;
}

/** @param {{[key: string]: () => void}} keys what is understood everywhere; `g h` is two keys */
export function startKeys(keys) {
  ofShell = keys;
  document.addEventListener('keydown', onKey);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = event.target instanceof HTMLElement ? event.target : null;
  const typing = target?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]');
  if (event.key === 'Escape' && typing) {
    target?.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const both = before ? `${before} ${event.key}` : event.key;
  before = event.key === 'g' && !before ? 'g' : '';
  if (before) return;
  if (both === 'j' || both === 'k') {
    event.preventDefault();
    moveFocus(both === 'j' ? 1 : -1);
    return;
  }
  const page = ofPage[both];
  const shell = ofShell[both];
  if (!page && !shell) return;
  event.preventDefault();
  if (page) page(focusedRow());
  else shell?.();
}

/** The row that has the focus, or one around it. */
export function focusedRow() {
  const active = document.activeElement;
  const slot = active?.closest('.slot, li, .row');
  return /** @type {HTMLElement | null} */ (slot?.matches('.row') ? slot : slot?.querySelector('.row') ?? null);
}

/** @param {number} step */
function moveFocus(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('#main .row')])
    .filter((row) => row.offsetParent !== null)
    .map((row) => ({ row, top: row.getBoundingClientRect().top }))
    .sort((a, b) => a.top - b.top)
    .map(({ row }) => row);
  const current = focusedRow();
  const at = current ? rows.indexOf(current) : -1;
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
