// Numbers, times and values as texts.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const UNKNOWN = '–';

/** A count with all digits. */
export const count = (value) => (value === null || value === undefined ? UNKNOWN : whole.format(value));

/** A count in at most four characters. */
export const brief = (value) => (value === null || value === undefined ? UNKNOWN : short.format(value));

/** A count and its noun. */
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** Records in a second. */
export const rate = (value) =>
  value === null || value === undefined ? UNKNOWN : `${value < 10 ? value.toFixed(1) : brief(value)}/s`;

/** A part of 1 in percent; 100 % means all. */
export function percent(part) {
  if (part === null || part === undefined || Number.isNaN(part)) return UNKNOWN;
  const text = (Math.floor(part * 1000) / 10).toFixed(1);
  return `${text.replace(/\.0$/, '')} %`;
}

/** A length of time, from seconds. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = units.findIndex(([size]) => seconds >= size);
  const [size, unit] = units[first];
  const [smaller, smallerUnit] = units[first + 1];
  const rest = Math.floor((seconds % size) / smaller);
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${smallerUnit}` : ''}`;
}

/** Bytes in binary units. */
export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let index = 0;
  let size = Number(value);
  while (size >= 1024 && index < units.length - 1) {
    size /= 1024;
    index += 1;
  }
  return `${index && size < 100 ? size.toFixed(1) : whole.format(size)} ${units[index]}`;
}

/** A time in the browser's zone, from ISO 8601; times without a zone are UTC. */
export function time(text) {
  if (!text) return UNKNOWN;
  const at = moment(text);
  const two = (part) => String(part).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** How long ago a time was. */
export function ago(text) {
  if (!text) return UNKNOWN;
  const seconds = (Date.now() - moment(text).getTime()) / 1000;
  return seconds < 1 ? 'just now' : `${duration(seconds)} ago`;
}

/** The `Date` of a text in ISO 8601; without a zone it is UTC. */
export const moment = (text) => new Date(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);

/** A value of a column. */
export function value(one) {
  if (one === null || one === undefined) return 'null';
  return typeof one === 'string' ? one : exactJson(one);
}

/** Parses JSON; integers that a number cannot hold (2^53) become BigInt. */
export function parseExact(text) {
  return JSON.parse(text, (_, value, context) => {
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context.source) : value;
  });
}

/** Returns a value as JSON; BigInt becomes a number with all its digits. */
export function exactJson(value, indent) {
  return JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? JSON.rawJSON(`${one}`) : one), indent);
}
