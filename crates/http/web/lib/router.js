// Addresses into pages. Every page has an address of its own, the back button works, and leaving a page cancels what it
// still asks for.

/** @typedef {{path: string, query: URLSearchParams, parts: string[], signal: AbortSignal}} Visit */

/** @type {AbortController} */
let current = new AbortController();
/** @type {(visit: Visit) => void} */
let render = () => {};

/** @param {(visit: Visit) => void} listener called for every address that is opened */
export function startRouter(listener) {
  render = listener;
  addEventListener('popstate', open);
  document.addEventListener('click', (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!plain || event.defaultPrevented || !link || link.target || link.hasAttribute('download')) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin || isServed(url.pathname)) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
  open();
}

/** Addresses that the server answers itself. @param {string} path */
function isServed(path) {
  return /^\/(?:api\/|docs$|openapi\.json$|metrics$|health)/.test(path);
}

/**
 * @param {string} address
 * @param {{replace?: boolean, quiet?: boolean}} [options] `replace` makes no new step for the back button, `quiet` only
 *   changes what the address bar says
 */
export function go(address, { replace = false, quiet = false } = {}) {
  if (replace || quiet || address === location.pathname + location.search) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  if (!quiet) open();
}

/** Shows the page again with what holds now. */
export function reload() {
  open();
}

function open() {
  current.abort();
  current = new AbortController();
  const path = decoded(location.pathname).replace(/\/+$/, '') || '/';
  render({ path, query: new URLSearchParams(location.search), parts: path.split('/').slice(1), signal: current.signal });
}

/** @param {string} path */
function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    // A stray percent sign is no reason to show nothing.
    return path;
  }
}
