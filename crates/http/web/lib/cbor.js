// Canonical CBOR as docs/format.md, 1.1 has it: one encoding only, everything else is refused. Pure.
//
// What must stay true: what this reads would be written with the same bytes again. Maps have ascending unsigned keys,
// every number and length its shortest form; tags, floats, null and indefinite lengths do not occur.

/** @typedef {number | bigint} Whole */
/** @typedef {Whole | string | boolean | Uint8Array | CborValue[] | CborMap} CborValue */

const DEPTH_MAX = 16;

export class Refused extends Error {}

/**
 * A map that remembers the bytes it was read from, because those are what is hashed.
 * @extends {Map<number, CborValue>}
 */
export class CborMap extends Map {
  /** @type {Uint8Array} */
  source = new Uint8Array();
}

/**
 * @param {Uint8Array} bytes
 * @returns {CborValue}
 */
export function decode(bytes) {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new Refused('bytes go on behind the record');
  return value;
}

class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /**
   * @param {number} depth
   * @returns {CborValue}
   */
  value(depth) {
    if (depth > DEPTH_MAX) throw new Refused('nested too deeply');
    const start = this.at;
    const first = this.byte();
    const major = first >> 5;
    const info = first & 31;
    if (major === 7) {
      if (info === 20 || info === 21) return info === 21;
      throw new Refused('neither floats, null nor undefined occur');
    }
    const argument = this.argument(info);
    switch (major) {
      case 0: return argument;
      case 1: return typeof argument === 'bigint' ? -1n - argument : -1 - argument;
      case 2: return this.take(argument);
      case 3: return text(this.take(argument));
      case 4: {
        const items = [];
        for (let left = this.length(argument); left > 0; left -= 1) items.push(this.value(depth + 1));
        return items;
      }
      case 5: {
        const map = this.map(this.length(argument), depth);
        map.source = this.bytes.subarray(start, this.at);
        return map;
      }
      default: throw new Refused('tags do not occur');
    }
  }

  /**
   * @param {number} length
   * @param {number} depth
   */
  map(length, depth) {
    const map = new CborMap();
    let last = -1;
    for (let left = length; left > 0; left -= 1) {
      const first = this.byte();
      const key = first >> 5 === 0 ? this.argument(first & 31) : -1;
      if (typeof key !== 'number' || key <= last) throw new Refused('keys are unsigned and ascending');
      last = key;
      map.set(key, this.value(depth + 1));
    }
    return map;
  }

  byte() {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new Refused('the bytes end too early');
    this.at += 1;
    return byte;
  }

  /**
   * A number in its shortest form.
   * @param {number} info
   * @returns {Whole}
   */
  argument(info) {
    if (info < 24) return info;
    const width = 1 << (info - 24);
    if (info > 27) throw new Refused('indefinite lengths do not occur');
    if (this.at + width > this.bytes.length) throw new Refused('the bytes end too early');
    let value = 0n;
    for (let left = width; left > 0; left -= 1) value = (value << 8n) | BigInt(this.byte());
    const least = width === 1 ? 24n : 1n << BigInt(width * 4);
    if (value < least) throw new Refused('a number is not in its shortest form');
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  /** @param {Whole} count */
  length(count) {
    // Each item has a byte at least, so a count above that is a lie that must not cost memory.
    if (typeof count === 'bigint' || count > this.bytes.length - this.at) throw new Refused('the bytes end too early');
    return count;
  }

  /** @param {Whole} count */
  take(count) {
    const length = this.length(count);
    const part = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return part;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} bytes */
function text(bytes) {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Refused('a text is not UTF-8');
  }
}
