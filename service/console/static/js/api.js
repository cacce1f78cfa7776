// Requests to the API: the token of the sign-in, entity tags, problems as errors, all digits of integers, and answers
// that follow the service.

import { exactJson, moment, parseExact } from './format.js';
import { signal, useEffect, useRef, useState } from './html.js';

const API = new URL('../v1/', document.baseURI); // relative: a proxy may serve all under a prefix
const TOKEN = 'braid.token';
const KNOWN_MAX = 500;

/** The token that requests are sent with; empty: none. It lives as long as the tab. */
export const token = signal(sessionStorage.getItem(TOKEN) ?? '');

/** The problem of the last request that was answered 401; null: none was. */
export const refused = signal(null);

/** What the service says about itself and the client (`GET /v1`); null: not known yet. */
export const description = signal(null);

const SCOPES = ['read', 'write', 'operate', 'admin']; // each includes those before it

/** Returns whether the client has a scope for `database.table`, or without one for any; not known: the service decides. */
export function may(scope, table) {
  const covers = (pattern) =>
    !table || pattern === '*' || new RegExp(`^${pattern.replace('.', '[.]').replaceAll('*', '[^.]*')}$`).test(table);
  const suffices = (grant) => SCOPES.indexOf(grant.scope) >= SCOPES.indexOf(scope) && grant.tables.some(covers);
  const grants = description.value?.client?.grants;
  return !grants || grants.some(suffices);
}

/** Keeps a token for this tab. */
export function signIn(given) {
  sessionStorage.setItem(TOKEN, given);
  known.clear();
  token.value = given;
  refused.value = null;
}

/** Forgets the token, and what was read with it. */
export function signOut() {
  sessionStorage.removeItem(TOKEN);
  known.clear();
  token.value = '';
  refused.value = new Problem({ title: 'Signed out', detail: 'You have signed out.', status: 401 });
}

/** A problem document (RFC 9457) as an error; requests without an answer have one, too. */
class Problem extends Error {
  constructor(problem) {
    super(problem.detail);
    this.status = problem.status ?? 0;
    this.title = problem.title;
    this.detail = problem.detail;
    this.code = problem.code ?? 'no_answer';
    this.errors = problem.errors ?? [];
    this.hint = problem.hint ?? null;
    this.requestId = problem.request_id ?? null;
  }
}

// Answers with an entity tag, the least recently used first.
const known = new Map();

/** Returns the body of a GET; the same object again while the service says that it is unchanged. */
export async function get(path, { signal: ended, exact = false } = {}) {
  const kept = known.get(path);
  const headers = kept ? { 'if-none-match': kept.etag } : {};
  const answer = await send('GET', path, { headers, ended });
  if (answer.status === 304) {
    known.delete(path);
    known.set(path, kept);
    return kept.body;
  }
  const body = await bodyOf(answer, exact);
  const etag = answer.headers.get('etag');
  if (etag) {
    known.delete(path);
    known.set(path, { etag, body });
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value);
  }
  return body;
}

/** Returns the entries of all pages of a list. */
async function getAll(path, field, options) {
  const entries = [];
  let token = '';
  do {
    const page = await get(`${path}${token && `&page_token=${encodeURIComponent(token)}`}`, options);
    entries.push(...page[field]);
    token = page.next_page_token;
  } while (token);
  return entries;
}

/** Returns the entity tag of the newest answer to a GET, for `if-match` of a change. */
export const etagOf = (path) => known.get(path)?.etag;

/** Returns a new idempotency key; `crypto.randomUUID` is only where the page came by TLS or from this machine. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

/**
 * Sends a request that may change something; returns the body of its answer. A POST that is sent again with the same `key`
 * has its effect once.
 */
export async function change(method, path, body, { key = newKey(), headers = {}, exact = false, ended } = {}) {
  const text = body === undefined ? undefined : exactJson(body);
  const sent = { 'content-type': 'application/json', ...(method === 'POST' && { 'idempotency-key': key }), ...headers };
  return bodyOf(await send(method, path, { headers: sent, body: text, ended }), exact);
}

/** Calls a function with each event of a subscription, until it ends. */
export async function follow(path, ended, onEvent) {
  const answer = await send('GET', path, { headers: { accept: 'text/event-stream' }, ended });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const name = /^event: ?(.*)$/m.exec(event);
      if (name) onEvent(name[1]);
    }
  }
}

async function send(method, path, { headers, body, ended }) {
  const sent = new Headers({ accept: 'application/json', ...headers });
  if (token.value) sent.set('authorization', `Bearer ${token.value}`);
  let answer;
  try {
    const options = { method, headers: sent, body, signal: ended, cache: 'no-store', credentials: 'omit' };
    answer = await fetch(new URL(path, API), options);
  } catch (error) {
    if (ended?.aborted) throw error;
    throw new Problem({
      title: 'The service does not answer',
      detail: 'No answer came from the service, or the connection was interrupted.',
      hint: 'Check that it runs and that this machine reaches it. This page tries again by itself.',
    });
  }
  if (answer.ok || answer.status === 304) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401) refused.value = problem;
  throw problem;
}

async function problemOf(answer) {
  let found = null;
  if (answer.headers.get('content-type')?.includes('json')) {
    found = await answer.json().catch(() => null);
  }
  return new Problem({
    title: `The service answered ${answer.status}`,
    detail: 'The answer does not say why; a proxy may have sent it.',
    request_id: answer.headers.get('x-request-id'),
    ...found,
    status: answer.status,
  });
}

async function bodyOf(answer, exact) {
  if (answer.status === 204) return null;
  const text = await answer.text();
  return text ? (exact ? parseExact(text) : JSON.parse(text)) : null;
}

const NOTHING = { path: null, data: null, problem: null };

/**
 * Returns the newest answer of a GET, and the problem of the newest request, if it failed; `reload` asks at once.
 * `every` is the pause between two requests in milliseconds; 0: it is asked once. Without a path nothing is asked. `list` is
 * the field with the entries of a list, of which all pages are read.
 */
export function useLive(path, { every = 4000, exact = false, list } = {}) {
  const [state, setState] = useState(NOTHING);
  const ask = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    const ended = new AbortController();
    let timer = 0;
    let asking = false;
    ask.current = async () => {
      if (asking) return;
      asking = true;
      clearTimeout(timer);
      try {
        const options = { signal: ended.signal, exact };
        const data = await (list ? getAll(path, list, options) : get(path, options));
        setState((old) => (old.data === data && !old.problem ? old : { path, data, problem: null }));
      } catch (problem) {
        if (ended.signal.aborted) return;
        setState((old) => ({ path, data: old.path === path ? old.data : null, problem }));
      }
      asking = false;
      if (every && !ended.signal.aborted) timer = setTimeout(askIfVisible, every);
    };
    const askIfVisible = () => {
      if (!document.hidden) ask.current();
    };
    document.addEventListener('visibilitychange', askIfVisible);
    ask.current();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', askIfVisible);
    };
  }, [path, every, exact, list]);
  const current = state.path === path ? state : NOTHING;
  return { data: current.data, problem: current.problem, reload: () => ask.current() };
}

/** Returns a value that has not changed for a while, so that each letter of an input does not cause a request. */
export function useSettled(value, milliseconds = 400) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** Returns a function that adds the rate of records in a second to the status of a stream, once it has seen two reports. */
export function useRates() {
  const before = useRef(new Map());
  return (name, status) => {
    const known = before.current.get(name);
    if (known?.source !== status) before.current.set(name, { ...withRate(status, known), source: status });
    return before.current.get(name);
  };
}

// The rate is that since an earlier status of the same stream.
function withRate(status, before) {
  if (status.state !== 'RUNNING' || !status.reported_at) return { ...status, rate: null };
  if (!before || before.reported_at === status.reported_at) return { ...status, rate: before?.rate ?? null };
  const seconds = (moment(status.reported_at) - moment(before.reported_at)) / 1000;
  const records = status.account.records - before.account.records;
  return { ...status, rate: records < 0 || seconds <= 0 ? null : records / seconds };
}
