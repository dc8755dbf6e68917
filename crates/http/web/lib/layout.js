// Where the nodes of a neighbourhood stand. Pure and deterministic: the same root and edges give the same picture.
//
// A walk from the root, breadth first and by id, makes a tree; every subtree gets a wedge of the circle as wide as its
// number of leaves, every hop a ring. Nothing moves, nothing is random.

/** @typedef {{id: number, from?: number}} LaidOut */
/** @typedef {{id: number, x: number, y: number, hop: number}} Place */

const RING = 190;
/** Room that a node needs on its ring, in the same units. */
const ROOM = 64;

/**
 * @param {number} root
 * @param {{from: number, to: number}[]} edges
 * @param {number} most nodes that are placed; those further away are left out
 * @returns {{places: Place[], radius: number, leftOut: number}}
 */
export function layout(root, edges, most) {
  /** @type {Map<number, Set<number>>} */
  const near = new Map([[root, new Set()]]);
  const join = (/** @type {number} */ a, /** @type {number} */ b) => {
    const known = near.get(a) ?? new Set();
    near.set(a, known.add(b));
  };
  for (const edge of edges) {
    join(edge.from, edge.to);
    join(edge.to, edge.from);
  }
  const { children, order, hops } = tree(root, near, most);
  const leaves = new Map();
  for (const id of [...order].reverse()) {
    const below = (children.get(id) ?? []).reduce((sum, child) => sum + leaves.get(child), 0);
    leaves.set(id, Math.max(1, below));
  }
  const ring = ringWidth(order, hops);
  /** @type {Place[]} */
  const places = [];
  place(root, 0, 2 * Math.PI);
  return { places, radius: Math.max(1, ...hops.values()) * ring, leftOut: near.size - order.length };

  /**
   * @param {number} id
   * @param {number} start of its wedge
   * @param {number} width of its wedge
   */
  function place(id, start, width) {
    const hop = hops.get(id) ?? 0;
    const angle = start + width / 2 - Math.PI / 2;
    places.push({ id, hop, x: round(Math.cos(angle) * hop * ring), y: round(Math.sin(angle) * hop * ring) });
    let at = start;
    for (const child of children.get(id) ?? []) {
      const share = (width * leaves.get(child)) / leaves.get(id);
      place(child, at, share);
      at += share;
    }
  }
}

/**
 * @param {number} root
 * @param {Map<number, Set<number>>} near
 * @param {number} most
 */
function tree(root, near, most) {
  const order = [root];
  const hops = new Map([[root, 0]]);
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (let index = 0; index < order.length; index += 1) {
    const id = order[index] ?? root;
    const next = [...(near.get(id) ?? [])].filter((other) => !hops.has(other)).sort((a, b) => a - b);
    const kept = next.slice(0, Math.max(0, most - order.length));
    children.set(id, kept);
    for (const child of kept) {
      hops.set(child, (hops.get(id) ?? 0) + 1);
      order.push(child);
    }
  }
  return { children, order, hops };
}

/**
 * Rings are far enough apart that the fullest one has room for its nodes.
 * @param {number[]} order
 * @param {Map<number, number>} hops
 */
function ringWidth(order, hops) {
  /** @type {Map<number, number>} */
  const crowd = new Map();
  for (const id of order) crowd.set(hops.get(id) ?? 0, (crowd.get(hops.get(id) ?? 0) ?? 0) + 1);
  let width = RING;
  for (const [hop, nodes] of crowd) if (hop > 0) width = Math.max(width, (nodes * ROOM) / (2 * Math.PI * hop));
  return width;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
