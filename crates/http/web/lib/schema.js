// JSON schemas as people write JSON: one line per field. Pure.

const DEPTH_MAX = 3;

/**
 * A type in one word.
 * @param {any} schema
 * @returns {string}
 */
export function kind(schema) {
  if (!schema) return 'any';
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.type === 'array') return `array of ${kind(schema.items)}`;
  if (Array.isArray(schema.enum)) return schema.enum.join(' or ');
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  return schema.type ?? 'any';
}

/**
 * @param {any} whole the document that references point into
 * @param {any} schema
 * @param {number} depth
 * @returns {string}
 */
export function shape(whole, schema, depth) {
  if (!schema) return 'any';
  if (schema.$ref) {
    const target = schema.$ref.replace('#/', '').split('/').reduce((/** @type {any} */ at, /** @type {string} */ key) => at?.[key], whole);
    return target && depth < DEPTH_MAX ? shape(whole, target, depth) : kind(schema);
  }
  for (const [joined, word] of /** @type {[string, string][]} */ ([['allOf', ' and '], ['oneOf', ' or '], ['anyOf', ' or ']])) {
    const parts = (schema[joined] ?? []).filter((/** @type {any} */ part) => part.type !== 'null');
    if (parts.length > 0) return parts.map((/** @type {any} */ part) => shape(whole, part, depth)).join(word);
  }
  if (schema.type === 'array') return `[${shape(whole, schema.items, depth)}]`;
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return kind(schema);
  const pad = '  '.repeat(depth + 1);
  const rows = fields.map(([name, field]) => {
    const about = /** @type {any} */ (field).description;
    return `${pad}${name}: ${shape(whole, field, depth + 1)}${about ? `  // ${about.replaceAll('\n', ' ')}` : ''}`;
  });
  return `{\n${rows.join('\n')}\n${'  '.repeat(depth)}}`;
}
