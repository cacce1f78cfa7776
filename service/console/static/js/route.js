// Addresses of the console: the part after `#`, which browsers do not send to the service.

import { computed, signal } from './html.js';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** The parts of the present address, decoded, and its parameters. */
export const route = computed(() => {
  const [path, query] = hash.value.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
});

/** Returns the address of parts and parameters, for `href`; parameters that are empty or null are left out. */
export function link(parts, query = {}) {
  const path = parts.map(encodeURIComponent).join('/');
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const parameters = new URLSearchParams(given).toString();
  return `#/${path}${parameters && `?${parameters}`}`;
}

/** Goes to an address; `replace` leaves no step in the browser's history. */
export function go(address, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, '', address);
    hash.value = address;
  } else location.hash = address;
}

/** Returns the path of a table's resource in the API. */
export function apiPath(database, table, ...rest) {
  return ['tables', database, table, ...rest].map(encodeURIComponent).join('/');
}

/** Returns the path of the list of a table's streams in the API; parameters can be added. */
export const streamsPath = (database, table, pageSize = 1000) =>
  `streams?table=${database}.${table}&page_size=${pageSize}`;

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}
