// Builds nodes. Text goes in as text nodes and nothing else: no function here reads HTML.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/** @typedef {(event: any) => void} Listener */
/** @typedef {{[name: string]: any, onclick?: Listener, onchange?: Listener, oninput?: Listener, onsubmit?: Listener, onkeydown?: Listener}} Props */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} tag
 * @param {Props} [props] attributes; `on…` are listeners, `class` and `for` are as in HTML, false and null leave it out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  // No button here sends a form unless it says so.
  return fill(document.createElement(tag), tag === 'button' ? { type: 'button', ...props } : props, children);
}

/**
 * A list of the server's, whose items have no type here, as something else.
 * @param {any[]} list
 * @param {(item: any, index: number) => any} make
 * @returns {any[]}
 */
export const map = (list, make) => list.map(make);

/**
 * @param {string} kind what it looks like: `small`, `primary`, `danger`, or `link`
 * @param {Listener} onclick
 * @param {...Child} children
 */
export function button(kind, onclick, ...children) {
  return h('button', { class: kind === 'link' ? kind : `button ${kind}`, onclick }, ...children);
}

/** A quiet sentence. @param {...Child} children */
export const quietLine = (...children) => h('p', { class: 'quiet' }, ...children);

/** A row of buttons. @param {...Child} children */
export const actions = (...children) => h('div', { class: 'actions' }, ...children);

/** @param {Props} props */
export const input = (props) => /** @type {HTMLInputElement} */ (h('input', props));

/** A word that stands out. @param {string} kind `good`, `warn`, `bad`, `accent`, or nothing @param {...Child} children */
export function pill(kind, ...children) {
  return h('span', { class: `pill ${kind}` }, ...children);
}

/** Words that stand back behind others. @param {...Child} children */
export function quiet(...children) {
  return h('span', { class: 'quiet' }, ...children);
}

/**
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, props = {}, ...children) {
  return fill(/** @type {SVGElement} */ (document.createElementNS(SVG, tag)), props, children);
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Props} props
 * @param {Child[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') Reflect.set(element, name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  add(element, children);
  return element;
}

/**
 * @param {Element | DocumentFragment} parent
 * @param {Child} children
 */
export function add(parent, children) {
  if (Array.isArray(children)) for (const child of children) add(parent, child);
  else if (children !== null && children !== undefined && children !== false) {
    parent.append(children instanceof Node ? children : String(children));
  }
}

/**
 * Puts children in the place of whatever was there.
 * @template {Element} T
 * @param {T} parent
 * @param {...Child} children
 */
export function show(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
  return parent;
}

/** Paths of the icons, 16 by 16, drawn as lines. @type {{[name: string]: string}} */
const ICONS = {
  home: 'M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z', memories: 'M3 3.5h10M3 8h10M3 12.5h6', live: 'M1.5 8h3l2-4.5 3 9 2-4.5h3',
  context: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  timeline: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.2l2.2 1.3', sessions: 'M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z',
  projects: 'M2 4.5h4l1.5 1.5H14v6.5H2z', graph: 'M4 5.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM12 8.7a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM5 14a1.7 1.7 0 1 0 0-3.4A1.7 1.7 0 0 0 5 14zM5.5 4.6l5 1.8M10.8 8.2l-4.4 3',
  entities: 'M8 2v12M2 8h12M4 4l8 8M12 4l-8 8', mind: 'M5.5 2.5A2.5 2.5 0 0 0 3 5v1a2 2 0 0 0 0 4v1a2.5 2.5 0 0 0 5 0V5a2.5 2.5 0 0 0-2.5-2.5zM10.5 2.5A2.5 2.5 0 0 1 13 5v1a2 2 0 0 1 0 4v1a2.5 2.5 0 0 1-5 0',
  audit: 'M8 2 3 4v4c0 3 2.2 5 5 6 2.8-1 5-3 5-6V4zM6 8l1.5 1.5L10.5 6.5', runs: 'M4 2.5 13 8l-9 5.5z', budget: 'M8 2v12M11 4.5H6.5a1.75 1.75 0 0 0 0 3.5h3a1.75 1.75 0 0 1 0 3.5H4.5',
  access: 'M4 7V5a4 4 0 0 1 8 0v2M3 7h10v6.5H3z', chat: 'M2.5 3h11v8h-7l-2.5 2.5V11h-1.5zM5.5 6h5M5.5 8.3h3', api: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4',
  transfer: 'M5 2.5v9M2.5 9 5 11.5 7.5 9M11 13.5v-9M8.5 7 11 4.5 13.5 7', lab: 'M6 2h4M6.5 2v4L3 13.5h10L9.5 6V2M5 10h6',
  told: 'M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2zM6 7l1.5 1.5L10.5 5.5', journal: 'M4 2.5h8.5v11H4zM4 2.5A1.5 1.5 0 0 0 2.5 4v8A1.5 1.5 0 0 0 4 13.5M6.5 5.5h4M6.5 8h4', settings: 'M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5.5 13a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z',
  log: 'M3 3.5h10v9H3zM5 6h6M5 8.2h6M5 10.4h3.5', past: 'M3 8a5 5 0 1 1 1.5 3.6M3 4.5V8h3.5M8 5.5V8l1.8 1.2', plus: 'M8 3v10M3 8h10', search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14', pin: 'M6 2h4l-.5 4.5L12 9H4l2.5-2.5zM8 9v5', menu: 'M2 4h12M2 8h12M2 12h12',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z', help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.2 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.6-.8 1.3M8 11.3v.2',
  close: 'M4 4l8 8M12 4l-8 8', check: 'M3 8.5 6.5 12 13 4.5', warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2', link: 'M6.5 9.5l3-3M7.5 4.5l1-1a2.5 2.5 0 0 1 4 4l-1 1M8.5 11.5l-1 1a2.5 2.5 0 0 1-4-4l1-1',
};

/** @param {string} name */
export function icon(name) {
  return s('svg', { class: 'icon', viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', focusable: 'false' },
    s('path', { d: ICONS[name] ?? '', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.4, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' }));
}

/**
 * The element with this id, which the shell has.
 * @param {string} id
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the shell has no #${id}`);
  return element;
}
