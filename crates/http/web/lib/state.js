// What the reader chose on this machine: the project and the colours. Storage may be forbidden; then nothing is kept.

/** @type {Map<string, string>} */
const kept = new Map();

/** @param {string} name */
export function recall(name) {
  try {
    return localStorage.getItem(`cortex.${name}`) ?? kept.get(name) ?? '';
  } catch {
    return kept.get(name) ?? '';
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function keep(name, value) {
  kept.set(name, value);
  try {
    if (value) localStorage.setItem(`cortex.${name}`, value);
    else localStorage.removeItem(`cortex.${name}`);
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

/** The project that is looked at; empty means all. */
export function project() {
  return recall('project');
}
