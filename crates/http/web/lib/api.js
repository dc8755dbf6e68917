// Asks the server. Every request can be cancelled, and every refusal is an ApiError with the words of the server.

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {any} problem
   */
  constructor(status, problem) {
    super(problem?.detail || problem?.error || `the server answered ${status}`);
    this.status = status;
    this.code = String(problem?.code ?? '');
    this.hint = String(problem?.hint ?? '');
  }
}

/** What to tell people: a browser's own words for a daemon that is gone say nothing. @param {unknown} error */
export function toldOf(error) {
  const { message, name } = /** @type {any} */ (error);
  return name === 'TypeError' && /fetch|network|load|import/i.test(message) ? 'Cortex does not answer.' : String(message ?? error);
}

/** Told when the server wants to know who asks. @type {() => void} */
let signedOut = () => {};

/** @param {() => void} listener */
export function onSignedOut(listener) {
  signedOut = listener;
}

/**
 * @param {string} path
 * @param {{[name: string]: string | number | boolean | null | undefined}} [query] what is empty is left out
 */
export function address(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) words.set(name, String(value));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{query?: any, body?: any, signal?: AbortSignal | undefined}} [options]
 * @returns {Promise<{data: any, total: number}>}
 */
export async function request(method, path, { query, body, signal } = {}) {
  /** @type {RequestInit} */
  const init = { method, credentials: 'same-origin', headers: { accept: 'application/json' } };
  if (signal) init.signal = signal;
  if (method !== 'GET') {
    init.headers = { accept: 'application/json', 'content-type': 'application/json' };
    init.body = JSON.stringify(body ?? {});
  }
  const answer = await fetch(address(path, query), init);
  const text = await answer.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    // A proxy in between may answer in HTML; the status says enough.
  }
  if (answer.status === 401) signedOut();
  if (!answer.ok) throw new ApiError(answer.status, data);
  return { data, total: Number(answer.headers.get('x-total-count') ?? Number.NaN) };
}

/**
 * @param {string} path
 * @param {any} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  return (await request('GET', path, { query, signal })).data;
}

/**
 * @param {string} path
 * @param {any} [query]
 * @param {AbortSignal} [signal]
 */
export function getPage(path, query, signal) {
  return request('GET', path, { query, signal });
}

/**
 * @param {'POST' | 'PUT' | 'DELETE'} method
 * @param {string} path
 * @param {any} [body]
 * @param {any} [query]
 * @returns {Promise<any>}
 */
export async function send(method, path, body, query) {
  return (await request(method, path, { body, query })).data;
}

/**
 * Was the request given up by this page itself?
 * @param {unknown} error
 */
export function isCancelled(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}
