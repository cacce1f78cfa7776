// Declarations: the parts of a row that streams write, and texts to copy.

/**
 * Returns the bands of a table in the order of its declaration, each with its columns and the streams that write it; the
 * columns outside of all groups are one band, whose name is null.
 */
export function bandsOf(declared, streams) {
  const { spec, columns } = declared;
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const typed = (names) => names.map((name) => ({ name, type: types.get(name) ?? '' }));
  const grouped = new Set(spec.primary_key);
  const bands = spec.sequence_groups.map((group) => {
    const names = [...(group.ordering ?? []), ...group.columns];
    names.forEach((name) => grouped.add(name));
    const owners = streams.filter((stream) => stream.sequence_group === group.name);
    return { name: group.name, ordering: group.ordering ?? [], columns: typed(names), streams: owners };
  });
  const rest = spec.columns.map((column) => column.name).filter((name) => !grouped.has(name));
  if (rest.length) {
    const writers = streams.filter((stream) => !stream.sequence_group);
    bands.push({ name: null, ordering: [], columns: typed(rest), streams: writers });
  }
  return bands;
}

/** Returns a declaration without the fields that are null, which is what they are if they are left out. */
export const withoutNulls = (spec) => JSON.parse(JSON.stringify(spec, (_, value) => value ?? undefined));

/** Returns the merge patch (RFC 7396) that makes one declaration of another; both are without nulls. */
export function patchOf(before, after) {
  const isObject = (value) => value && typeof value === 'object' && !Array.isArray(value);
  const changed = Object.keys({ ...before, ...after }).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const one = (old, value) => (isObject(old) && isObject(value) ? patchOf(old, value) : (value ?? null));
  return Object.fromEntries(changed.map((name) => [name, one(before[name], after[name])]));
}

/** Returns the shell command that sends a declaration. */
export function curl(path, spec) {
  const body = JSON.stringify(spec, null, 2).replaceAll("'", String.raw`'\''`);
  const address = new URL(`../v1/${path}`, document.baseURI);
  return [
    `curl -fsS -X PUT '${address.href}' \\`,
    "  -H 'content-type: application/json' \\",
    '  -H "authorization: Bearer $BRAID_TOKEN" \\',
    `  -d '${body}'`,
  ].join('\n');
}

/** Returns a value of JSON as YAML. */
export function yaml(value, indent = '') {
  if (Array.isArray(value)) {
    if (!value.length) return '[]';
    if (value.every(isScalar)) return `[${value.map(scalar).join(', ')}]`;
    return value.map((one) => `\n${indent}- ${nested(one, `${indent}  `)}`).join('');
  }
  if (isScalar(value)) return scalar(value);
  const entries = Object.entries(value);
  if (!entries.length) return '{}';
  const lines = entries.map(([name, one]) => `${scalar(name)}:${isBlock(one) ? '' : ' '}${yaml(one, `${indent}  `)}`);
  return `\n${indent}${lines.join(`\n${indent}`)}`;
}

// The first field of an object in a list stands in the line of its dash.
const nested = (one, indent) => (isBlock(one) ? yaml(one, indent).replace(/^\n\s*/, '') : yaml(one, indent));
const isScalar = (value) => value === null || typeof value !== 'object';
const isBlock = (value) =>
  !isScalar(value) && (Array.isArray(value) ? !value.every(isScalar) : Object.keys(value).length > 0);

// A text that YAML could read as something else is written as in JSON, which YAML contains.
function scalar(value) {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain = /^[A-Za-z][A-Za-z0-9_./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
