// The overview of all tables, the least fresh one first, and the page of a table with the list of its streams.

import { get, useLive } from '../api.js';
import { brief, count, duration, percent, plural } from '../format.js';
import { html, signal, useEffect, useMemo, useState } from '../html.js';
import { apiPath, link } from '../route.js';
import {
  Ago,
  Empty,
  Figures,
  Head,
  Lag,
  Loading,
  Meter,
  Owner,
  ProblemNote,
  State,
  Tabs,
  useNarrow,
  VirtualList,
  words,
} from '../parts/basics.js';
import { Flow } from './flow.js';
import { RowPage } from './row.js';
import { Schema, Storage } from './table_metadata.js';

const TABLE_COLUMNS = [['Table'], ['Freshness'], ['Streams'], ['Complete rows'], ['Rows', 'number'], ['Compaction']];
const UNHEALTHY = ['FAILED', 'RETRYING', 'UNASSIGNED'];
const HELD = ['PAUSED', 'STOPPED', 'COMPLETED'];

const search = signal(''); // kept while other pages are visited

export function Overview() {
  const tables = useMemo(() => new TableSummaries(), []);
  useEffect(() => tables.start(), [tables]);
  const narrow = useNarrow();
  const names = tables.names.value;
  const summaries = tables.summaries.value;
  const found = useMemo(() => sorted(names ?? [], summaries, search.value), [names, summaries, search.value]);
  tables.isShown = (key) => found.slice(0, 30).some((table) => table.key === key);
  return html`
    <${Head} title="Tables" actions=${html`<a class="button main" href=${link(['new'])}>New table</a>`} />
    <${ProblemNote} problem=${tables.problem.value} />
    ${names === null && !tables.problem.value && html`<${Loading} what="the tables" />`}
    ${names?.length === 0 && html`<${NoTables} />`}
    ${
      names?.length > 0 &&
      html`
        <${Figures} figures=${figuresOfAll(names, summaries)} />
        <div class="card">
          <div class="list-tools">
            <label class="hidden" for="search">Find a table</label>
            <input id="search" type="search" placeholder="Find a table" value=${search.value}
              onInput=${(event) => (search.value = event.currentTarget.value)} />
            <span class="small quiet" role="status">${plural(found.length, 'table')}, the least fresh first</span>
          </div>
          ${
            found.length > 0
              ? html`<${VirtualList} items=${found} height=${narrow ? 148 : 60} columns=${TABLE_COLUMNS} label="Tables"
                  className="tables" row=${(table) => html`<${Row} table=${table} />`} />`
              : html`<${Empty} title="No table has such a name"><p>Names of databases and tables are searched.</p><//>`
          }
        </div>
      `
    }
  `;
}

const NoTables = () =>
  html`<div class="card"><${Empty} title="There are no tables yet">
    <p>A table has a row for each key. Declare its columns first, then the streams that fill them.</p>
    <a class="button main" href=${link(['new'])}>Declare a table</a>
  <//></div>`;

function Row({ table }) {
  const { database, name, summary } = table;
  return html`
    <span role="cell" class="name"><a href=${link(['tables', database, name])}><span class="quiet">${database}.</span>${name}</a></span>
    ${
      summary?.problem
        ? html`<span role="cell" class="bad span">${summary.problem.title}: ${summary.problem.detail}</span>`
        : html`
            <span role="cell"><${Freshness} summary=${summary} /></span>
            <span role="cell"><${States} streams=${summary?.streams} /></span>
            <span role="cell"><${Meter} part=${partOf(summary)} label="Complete:" /></span>
            <span role="cell" class="number">${count(summary?.rows)}<span class="narrow-only quiet"> rows</span></span>
            <span role="cell"><${Compaction} summary=${summary} /></span>
          `
    }
  `;
}

function Freshness({ summary }) {
  if (!summary) return html`<span class="quiet">…</span>`;
  if (!summary.streams.length) return html`<span class="quiet">no streams</span>`;
  const lags = summary.streams.map((stream) => stream.lag_seconds).filter((lag) => lag !== null);
  const hasFailed = summary.streams.some((stream) => UNHEALTHY.includes(stream.state));
  if (lags.length && !hasFailed) {
    const worst = Math.max(...lags);
    return html`<strong class=${worst > 60 ? 'warn' : ''}>${duration(worst)}</strong> <span class="quiet">behind</span>`;
  }
  const commits = summary.streams
    .map((stream) => stream.last_commit)
    .filter(Boolean)
    .sort();
  return commits.length
    ? html`<span class=${hasFailed ? 'warn' : 'quiet'}>commit <${Ago} at=${commits[0]} /></span>`
    : html`<span class="quiet">no commit yet</span>`;
}

function States({ streams }) {
  if (!streams?.length) return html`<span class="quiet">–</span>`;
  const numbers = Map.groupBy(streams, (stream) => stream.state);
  const order = [...UNHEALTHY, 'STARTING', 'RUNNING', ...HELD].filter((state) => numbers.has(state));
  return html`<span class="states">
    ${order.map((state) => html`<span class="badge ${tone(state)}">${numbers.get(state).length} ${words(state)}</span>`)}
  </span>`;
}

const tone = (state) =>
  state === 'RUNNING' ? 'good' : state === 'FAILED' ? 'bad' : HELD.includes(state) ? '' : 'warn';

function Compaction({ summary }) {
  if (!summary) return '';
  if (!summary.isDue) return html`<span class="small quiet">${plural(summary.runs, 'sorted run')}</span>`;
  const text = summary.isBehind ? 'behind' : 'due';
  return html`<span class="states">
    <span class="badge ${summary.isBehind ? 'bad' : 'warn'}">${text}</span>
    <span class="small quiet">${plural(summary.runs, 'run')}</span>
  </span>`;
}

const partOf = (summary) =>
  summary?.rows === undefined || summary.rows === null
    ? null
    : summary.rows === 0
      ? null
      : summary.complete / summary.rows;

function figuresOfAll(names, summaries) {
  const known = [...summaries.values()];
  const streams = known.flatMap((summary) => summary.streams);
  const failed = streams.filter((stream) => UNHEALTHY.includes(stream.state)).length;
  const lags = streams.map((stream) => stream.lag_seconds).filter((lag) => lag !== null);
  const due = known.filter((summary) => summary.isDue).length;
  return [
    ['Tables', count(names.length)],
    ['Rows', brief(known.reduce((sum, summary) => sum + (summary.rows ?? 0), 0))],
    [
      'Streams that run',
      `${count(streams.filter((stream) => stream.state === 'RUNNING').length)}`,
      `of ${count(streams.length)}`,
    ],
    ['Streams with a problem', count(failed), null, failed ? 'bad' : ''],
    ['Largest lag', lags.length ? duration(Math.max(...lags)) : '–'],
    ['Tables to compact', count(due), null, due ? 'warn' : ''],
  ];
}

/** Returns the tables whose name has the searched text, with their summaries, the least fresh first. */
function sorted(names, summaries, text) {
  const wanted = text.trim().toLowerCase();
  return names
    .filter((table) => table.key.toLowerCase().includes(wanted))
    .map((table) => ({ ...table, summary: summaries.get(table.key) }))
    .map((table) => ({ ...table, urgency: urgency(table.summary) }))
    .sort((one, other) => other.urgency - one.urgency || one.key.localeCompare(other.key));
}

// Failures first, then streams without a runner, then the lag; what is held on purpose comes last.
function urgency(summary) {
  if (!summary) return -1;
  if (summary.problem) return 4e15;
  const states = summary.streams.map((stream) => stream.state);
  const worst = UNHEALTHY.findIndex((state) => states.includes(state));
  if (worst >= 0) return (UNHEALTHY.length - worst) * 1e15;
  return Math.max(-0.5, ...summary.streams.map((stream) => stream.lag_seconds ?? -0.5));
}

const AT_ONCE = 3; // requests of the sweep: the service has 6 places for large ones
const PAUSE_MS = 4000;

/** Reads the list of tables and their summaries until it is ended. Tables that `isShown` come first. */
class TableSummaries {
  constructor() {
    this.names = signal(null); // null: not known yet
    this.problem = signal(null);
    this.summaries = signal(new Map());
    this.isShown = () => false;
    this.ended = new AbortController();
  }

  start() {
    this.repeat();
    return () => this.ended.abort();
  }

  async repeat() {
    while (!this.ended.signal.aborted) {
      try {
        if (!document.hidden) {
          await this.readNames();
          await this.sweep();
          this.problem.value = null;
        }
      } catch (problem) {
        this.problem.value = problem;
      }
      await sleep(PAUSE_MS);
    }
  }

  async readNames() {
    const names = [];
    let page = null;
    do {
      const token = page ? `&page_token=${encodeURIComponent(page.next_page_token)}` : '';
      page = await this.read(`tables?page_size=1000${token}`);
      names.push(...page.tables.map(({ database, name }) => ({ key: `${database}.${name}`, database, name })));
    } while (page.next_page_token);
    this.names.value = names;
  }

  async sweep() {
    const names = this.names.value;
    const waiting = [
      ...names.filter((name) => this.isShown(name.key)),
      ...names.filter((name) => !this.isShown(name.key)),
    ];
    const worker = async () => {
      while (waiting.length && !this.ended.signal.aborted) {
        const { key, database, name } = waiting.shift();
        const summary = await this.summaryOf(database, name);
        if (!this.ended.signal.aborted) this.summaries.value = new Map(this.summaries.value).set(key, summary);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async summaryOf(database, table) {
    try {
      const [completeness, maintenance] = await Promise.all([
        this.read(apiPath(database, table, 'completeness')),
        this.read(apiPath(database, table, 'maintenance')),
      ]);
      return { ...completeness, ...compactionOf(maintenance), streams: Object.values(completeness.streams) };
    } catch (problem) {
      if (problem.status === 401) throw problem;
      return { problem, streams: [] };
    }
  }

  read(path) {
    return get(path, { signal: this.ended.signal });
  }
}

/** Whether a table needs a compaction, by its report of maintenance. */
const compactionOf = (maintenance) => ({
  runs: maintenance.most_runs,
  runs_allowed: maintenance.compaction_trigger,
  isDue: maintenance.most_runs >= maintenance.compaction_trigger,
  isBehind: maintenance.most_runs > maintenance.stop_trigger,
});

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const PARTS = { flow: Flow, streams: Streams, rows: RowPage, schema: Schema, storage: Storage };
const TITLES = [
  ['flow', 'Flow'],
  ['streams', 'Streams'],
  ['rows', 'Row'],
  ['schema', 'Schema'],
  ['storage', 'Storage'],
];

export function TablePage({ database, table, tab, query }) {
  const here = (part) => link(['tables', database, table, part]);
  const declared = useLive(apiPath(database, table));
  const rows = useLive(apiPath(database, table, 'completeness'));
  const Part = PARTS[tab] ?? Flow;
  const actions = html`
    <a class="button" href=${here('new-stream')}>Add a stream</a>
    <a class="button main" href=${here('rows')}>Find a row</a>
  `;
  return html`
    <${Head} crumbs=${[['Tables', link([])]]} title=${`${database}.${table}`} actions=${actions}
      badge=${declared.data && html`<span class="badge bare">${declared.data.spec.merge_engine}</span>`} />
    ${declared.data?.spec.comment && html`<p class="quiet">${declared.data.spec.comment}</p>`}
    <${Owner} spec=${declared.data?.spec} />
    <${ProblemNote} problem=${declared.problem ?? rows.problem} />
    ${
      declared.data
        ? html`
            <${Figures} figures=${figures(rows.data)} />
            <${Tabs} label="Parts of the table" current=${tab} tabs=${TITLES.map(([name, title]) => [name, title, here(name)])} />
            <${Part} database=${database} table=${table} declared=${declared.data} completeness=${rows.data} query=${query} />
          `
        : !declared.problem && html`<${Loading} what="the table" />`
    }
  `;
}

function figures(completeness) {
  const streams = Object.values(completeness?.streams ?? {});
  const lags = streams.map((stream) => stream.lag_seconds).filter((lag) => lag !== null);
  const running = streams.filter((stream) => stream.state === 'RUNNING').length;
  const { rows = null, complete = null } = completeness ?? {};
  const counting = completeness?.counting ? `counting, ${percent(completeness.counting.done)}` : null;
  return [
    ['Rows', count(rows), counting],
    ['Complete rows', rows ? percent(complete / rows) : '–', rows ? `${count(complete)}` : null],
    ['Largest lag', lags.length ? duration(Math.max(...lags)) : '–'],
    ['Streams that run', count(running), `of ${count(streams.length)}`],
    ['Snapshot', completeness?.snapshot?.id ?? '–'],
  ];
}

const STREAM_COLUMNS = [['Stream'], ['State'], ['Lag'], ['Records waiting', 'number'], ['Last commit']];

function Streams({ database, table, completeness }) {
  const listed = useLive(apiPath(database, table, 'streams'), { every: 15_000 });
  const [text, setText] = useState('');
  const narrow = useNarrow();
  const streams = listed.data?.streams;
  const found = useMemo(
    () => matching(streams ?? [], completeness?.streams ?? {}, text),
    [streams, completeness, text],
  );
  if (!streams)
    return listed.problem
      ? html`<${ProblemNote} problem=${listed.problem} />`
      : html`<${Loading} what="the streams" />`;
  if (!streams.length) {
    return html`<div class="card"><${Empty} title="No stream fills this table yet">
      <a class="button main" href=${link(['tables', database, table, 'new-stream'])}>Add a stream</a>
    <//></div>`;
  }
  const row = (stream) => html`
    <span role="cell" class="name"><a href=${link(['tables', database, table, 'streams', stream.name])}>${stream.name}</a> <span class="quiet small">${stream.spec.topic}</span></span>
    <span role="cell"><${State} state=${stream.state ?? 'UNASSIGNED'} /></span>
    <span role="cell"><${Lag} stream=${stream} /></span>
    <span role="cell" class="number">${count(stream.lag_records)}<span class="narrow-only quiet"> waiting</span></span>
    <span role="cell" class="quiet"><${Ago} at=${stream.last_commit} /></span>
  `;
  return html`<div class="card">
    <div class="list-tools">
      <label class="hidden" for="stream-search">Find a stream</label>
      <input id="stream-search" type="search" placeholder="Find a stream or a topic" value=${text}
        onInput=${(event) => setText(event.currentTarget.value)} />
      <span class="small quiet" role="status">${plural(found.length, 'stream')}, the largest lag first</span>
    </div>
    <${VirtualList} items=${found} height=${narrow ? 104 : 52} columns=${STREAM_COLUMNS} label="Streams" className="streams" row=${row} />
  </div>`;
}

/** Returns the streams whose name or topic has a text, with their states, failures and the largest lag first. */
function matching(streams, states, text) {
  const wanted = text.trim().toLowerCase();
  const urgency = (stream) => (stream.state === 'FAILED' ? Infinity : (stream.lag_seconds ?? -1));
  return streams
    .filter((stream) => `${stream.name} ${stream.spec.topic}`.toLowerCase().includes(wanted))
    .map((stream) => ({ ...stream, ...states[stream.name], key: stream.name }))
    .sort((one, other) => urgency(other) - urgency(one) || one.name.localeCompare(other.name));
}
