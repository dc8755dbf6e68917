// Dialogs: native ones, so that focus stays inside and Escape closes them.

import { actions, byId, h, icon, input } from './dom.js';

/**
 * @param {string} title
 * @param {Child} content
 * @param {{wide?: boolean}} [options]
 * @returns {{close: () => void, closed: Promise<void>}}
 */
export function openDialog(title, content, { wide = false } = {}) {
  const label = h('h2', { id: 'dialog-title' }, title);
  const dialog = /** @type {HTMLDialogElement} */ (h('dialog', { 'aria-labelledby': 'dialog-title', class: wide ? 'wide' : null },
    h('header', {}, label,
      h('button', { class: 'icon-button', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'))),
    h('div', { class: 'dialog-body' }, content)));
  byId('dialogs').append(dialog);
  const closed = new Promise((/** @type {(value: void) => void} */ resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve();
    });
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.showModal();
  return { close: () => dialog.close(), closed };
}

/**
 * Asks before something that cannot be taken back; the reader types a text to show that it was read.
 * @param {string} title
 * @param {Child} words
 * @param {string} typed the text that must be typed
 * @param {string} action what the button says
 * @param {() => Promise<void>} act
 */
export function confirmTyped(title, words, typed, action, act) {
  const button = /** @type {HTMLButtonElement} */ (h('button', { class: 'button danger', type: 'submit', disabled: true }, action));
  const field = input({
    type: 'text', id: 'typed', autocomplete: 'off',
    oninput: () => { button.disabled = field.value.trim() !== typed.trim(); },
  });
  const form = h('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      if (button.disabled) return;
      dialog.close();
      await act();
    },
  }, h('p', {}, words), h('label', { for: 'typed' }, 'Type ', h('strong', {}, typed), ' to go on'), field,
  actions(button));
  const dialog = openDialog(title, form);
}

/** The keys of the page. */
export function showHelp() {
  const rows = [
    ['/', 'search'], ['n', 'new memory'], ['j  k', 'next, previous in a list'], ['Enter', 'open'], ['x', 'select'],
    ['p', 'pin or unpin'], ['e', 'edit'], ['a', 'archive'], ['u', 'undo the last change'],
    ['g h', 'home'], ['g m', 'memories'], ['g l', 'live'], ['g c', 'what agents see'], ['g t', 'timeline'], ['g p', 'history'], ['g a', 'audit'],
    ['t', 'light or dark'], ['Esc', 'close, or leave a field'], ['?', 'this list'],
  ];
  openDialog('Keys', h('dl', { class: 'keys' }, rows.map(([key, words]) => [
    h('dt', {}, String(key).split('  ').map((each) => h('kbd', {}, each))), h('dd', {}, words ?? ''),
  ])));
}
