// The overview of all tables, the least fresh one first, and the page of a table with the list of its streams.

import { useLive } from '../api.js';
import { count, duration, percent, plural } from '../format.js';
import { html, signal, useMemo, useState } from '../html.js';
import { apiPath, link, streamsPath } from '../route.js';
import {
  Empty,
  Figures,
  Head,
  Loading,
  Meter,
  Owner,
  ProblemNote,
  State,
  Tabs,
  toneOf,
  useNarrow,
  VirtualList,
  words,
} from '../parts/basics.js';
import { TableAudit } from './activity.js';
import { Flow, NoStreams } from './flow.js';
import { RowPage } from './row.js';
import { Schema, Storage } from './table_metadata.js';

const TABLE_COLUMNS = [['Table'], ['Freshness'], ['Streams'], ['Complete rows'], ['Rows', 'number'], ['Compaction']];
const UNHEALTHY = ['FAILED', 'RETRYING', 'UNASSIGNED'];

const search = signal(''); // kept while other pages are visited

export function Overview() {
  const { data, problem } = useLive('tables?expand=status&page_size=1000', { list: 'tables' });
  const narrow = useNarrow();
  const found = useMemo(() => leastFreshFirst(data ?? [], search.value), [data, search.value]);
  return html`
    <${Head} title="Tables" actions=${html`<a class="button main" href=${link(['new'])}>New table</a>`} />
    <${ProblemNote} problem=${problem} />
    ${!data && !problem && html`<${Loading} what="the tables" />`}
    ${data?.length === 0 && html`<${NoTables} />`}
    ${
      data?.length > 0 &&
      html`
        <${Figures} figures=${figuresOfAll(data)} />
        <div class="card">
          <${ListTools} what="table" placeholder="Find a table" text=${search.value} setText=${(text) => (search.value = text)} found=${found} />
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

/** The search of a list that is ordered by freshness. */
const ListTools = ({ what, placeholder, text, setText, found }) =>
  html`<div class="list-tools">
    <label class="hidden" for="search">Find a ${what}</label>
    <input id="search" type="search" placeholder=${placeholder} value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
    <span class="small quiet" role="status">${plural(found.length, what)}, the least fresh first</span>
  </div>`;

const NoTables = () =>
  html`<div class="card"><${Empty} title="There are no tables yet">
    <p>A table has a row for each key. Declare its columns first, then the streams that fill them.</p>
    <a class="button main" href=${link(['new'])}>Declare a table</a>
  <//></div>`;

function Row({ table }) {
  const { database, name, status, error } = table;
  // Rows are counted on request, so only those of visible tables are asked for.
  const counted = useLive(error ? null : apiPath(database, name, 'completeness'), { every: 10_000 });
  const { rows, complete } = counted.data ?? {};
  return html`
    <span role="cell" class="name"><a href=${link(['tables', database, name])}><span class="quiet">${database}.</span>${name}</a></span>
    ${
      error
        ? html`<span role="cell" class="bad span">${error}</span>`
        : html`
            <span role="cell"><${Freshness} table=${table} /></span>
            <span role="cell"><${States} states=${status.states} /></span>
            <span role="cell"><${Meter} part=${rows ? complete / rows : null} label="Complete:" /></span>
            <span role="cell" class="number">${count(rows)}<span class="narrow-only quiet"> rows</span></span>
            <span role="cell"><${Compaction} status=${status} /></span>
          `
    }
  `;
}

function Freshness({ table: { streams, status } }) {
  const seconds = status.freshness_seconds;
  if (seconds !== null)
    return html`<strong class=${seconds > 60 ? 'warn' : ''}>${duration(seconds)}</strong> <span class="quiet">behind</span>`;
  return html`<span class="quiet">${streams ? 'not measured' : 'no streams'}</span>`;
}

const States = ({ states }) =>
  html`<span class="states">
    ${Object.keys(states).length === 0 && html`<span class="quiet">–</span>`}
    ${ranked(states).map((state) => html`<span class="badge ${toneOf(state)}">${states[state]} ${words(state)}</span>`)}
  </span>`;

// Those that need attention first.
const ranked = (states) => {
  const rank = (state) => UNHEALTHY.indexOf(state) + 1 || 9;
  return Object.keys(states).sort((one, other) => rank(one) - rank(other));
};

function Compaction({ status }) {
  if (status.maintenance_error) return html`<span class="badge bad" title=${status.maintenance_error}>failing</span>`;
  if (status.most_runs === null) return html`<span class="quiet">–</span>`;
  return html`<span class="states">
    ${isDue(status) && html`<span class="badge warn">due</span>`}
    <span class="small quiet">${plural(status.most_runs, 'sorted run')}</span>
  </span>`;
}

const isDue = (status) => status.most_runs !== null && status.most_runs >= status.compaction_trigger;

function figuresOfAll(tables) {
  const known = tables.map((table) => table.status).filter(Boolean);
  const streams = (wanted) =>
    known.flatMap(({ states }) => wanted.map((state) => states[state] ?? 0)).reduce((sum, one) => sum + one, 0);
  const lags = known.map((status) => status.lag_seconds).filter((lag) => lag !== null);
  const failed = streams(UNHEALTHY);
  const due = known.filter(isDue).length;
  return [
    ['Tables', count(tables.length)],
    [
      'Streams that run',
      count(streams(['RUNNING'])),
      `of ${count(tables.reduce((sum, one) => sum + (one.streams ?? 0), 0))}`,
    ],
    ['Streams with a problem', count(failed), null, failed ? 'bad' : ''],
    ['Largest lag', lags.length ? duration(Math.max(...lags)) : '–'],
    ['Tables to compact', count(due), null, due ? 'warn' : ''],
  ];
}

/** Returns the tables whose name has the searched text: those with failures, then the others, the least fresh first. */
function leastFreshFirst(tables, text) {
  const wanted = text.trim().toLowerCase();
  return tables
    .map((table) => ({ ...table, key: `${table.database}.${table.name}`, urgency: urgency(table) }))
    .filter((table) => table.key.toLowerCase().includes(wanted))
    .sort((one, other) => other.urgency - one.urgency || one.key.localeCompare(other.key));
}

// Failures first, then streams without a runner, then the age; what is held on purpose comes last.
function urgency({ error, status }) {
  if (error) return 4e15;
  const worst = UNHEALTHY.findIndex((state) => status.states[state]);
  return worst >= 0 ? (UNHEALTHY.length - worst) * 1e15 : (status.freshness_seconds ?? -1);
}

const PARTS = { flow: Flow, streams: Streams, rows: RowPage, schema: Schema, storage: Storage, audit: TableAudit };
const TITLES = [
  ['flow', 'Flow'],
  ['streams', 'Streams'],
  ['rows', 'Row'],
  ['schema', 'Schema'],
  ['storage', 'Storage'],
  ['audit', 'Audit log'],
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
            <${Part} database=${database} table=${table} declared=${declared.data} completeness=${rows.data} query=${query} reload=${declared.reload} />
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

const STREAM_COLUMNS = [['Stream'], ['State'], ['Freshness'], ['Records waiting', 'number']];

function Streams({ database, table, declared }) {
  const { data, problem } = useLive(streamsPath(database, table), { list: 'streams' });
  const [text, setText] = useState('');
  const narrow = useNarrow();
  const found = useMemo(() => matching(data ?? [], text), [data, text]);
  if (!data) return problem ? html`<${ProblemNote} problem=${problem} />` : html`<${Loading} what="the streams" />`;
  if (!data.length)
    return html`<div class="card"><${NoStreams} database=${database} table=${table} hidden=${declared.streams.length} /></div>`;
  const row = (stream) => html`
    <span role="cell" class="name"><a href=${link(['tables', database, table, 'streams', stream.name])}>${stream.name}</a> <span class="quiet small">${stream.topic}</span></span>
    <span role="cell"><${State} state=${stream.state} /></span>
    <span role="cell">${stream.freshness_seconds === null ? '–' : `${duration(stream.freshness_seconds)} behind`}</span>
    <span role="cell" class="number">${count(stream.lag_records)}<span class="narrow-only quiet"> waiting</span></span>
  `;
  return html`<div class="card">
    <${ListTools} what="stream" placeholder="Find a stream or a topic" text=${text} setText=${setText} found=${found} />
    <${VirtualList} items=${found} height=${narrow ? 104 : 52} columns=${STREAM_COLUMNS} label="Streams" className="streams" row=${row} />
  </div>`;
}

/** Returns the streams whose name or topic has a text: those that have failed, then the others, the least fresh first. */
function matching(streams, text) {
  const wanted = text.trim().toLowerCase();
  const urgency = (stream) => (stream.state === 'FAILED' ? Infinity : (stream.freshness_seconds ?? -1));
  return streams
    .filter((stream) => `${stream.name} ${stream.topic}`.toLowerCase().includes(wanted))
    .map((stream) => ({ ...stream, key: stream.name, urgency: urgency(stream) }))
    .sort((one, other) =>
      one.urgency === other.urgency ? one.name.localeCompare(other.name) : other.urgency - one.urgency,
    );
}
