// What is known about a table: its schema with its history, and its storage.

import { change, useLive } from '../api.js';
import { bytes, count, plural, time } from '../format.js';
import { html, useState } from '../html.js';
import { apiPath, go, link } from '../route.js';
import { Ago, Card, Declaration, Facts, Guarded, Loading, ProblemNote, Table, words } from '../parts/basics.js';
import { ChangeDeclaration, ChangeDialog, Confirm } from '../parts/forms.js';
import { TableOperations } from './activity.js';

export function Schema({ database, table, declared, reload }) {
  const [generated, setGenerated] = useState(false);
  const name = `${database}.${table}`;
  const path = apiPath(database, table);
  const history = useLive(apiPath(database, table, 'schemas'), { every: 15_000 });
  const hidden = declared.columns.filter((column) => column.made_for !== null).length;
  return html`<div class="stack">
    <${Card} title="Columns" note=${`schema ${declared.schema_id}`} flush
      actions=${
        hidden > 0 &&
        html`<label class="actions"><input type="checkbox" checked=${generated}
        onChange=${(event) => setGenerated(event.currentTarget.checked)} />Show ${plural(hidden, 'generated column')}</label>`
      }>
      <${Columns} declared=${declared} generated=${generated} />
    <//>
    <${Card} title="History" note="the newest schema first">
      <${ProblemNote} problem=${history.problem} />
      ${history.data ? html`<${History} schemas=${history.data.schemas} />` : html`<${Loading} what="the history" />`}
    <//>
    <${Declaration} title="Declaration" name=${name} kind="Table" spec=${declared.spec} path=${path}
      action=${html`<${Changes} path=${path} name=${name} spec=${declared.spec} reload=${reload} />`} />
  </div>`;
}

const EXAMPLE = { changes: [{ change: 'add_column', column: 'note', type: 'STRING' }] };

/** Buttons that change the declaration or the schema of a table, or drop it. */
function Changes({ path, name, spec, reload }) {
  const [chosen, setChosen] = useState(null);
  const [keepsData, setKeepsData] = useState(false);
  const dialog = { path, close: () => setChosen(null), done: reload };
  const drop = async () => {
    await change('DELETE', `${path}?confirm=${name}&keep_data=${keepsData}`);
    go(link([]));
  };
  return html`<${Guarded} scope="admin" table=${name}>
      <button type="button" onClick=${() => setChosen('declaration')}>Change</button>
      <button type="button" onClick=${() => setChosen('schema')}>Change the schema</button>
      <button type="button" class="danger" onClick=${() => setChosen('drop')}>Drop</button>
    <//>
    ${chosen === 'declaration' && html`<${ChangeDeclaration} ...${dialog} title=${`Change the table ${name}`} spec=${spec} />`}
    ${
      chosen === 'schema' &&
      html`<${ChangeDialog} ...${dialog} title=${`Change the schema of ${name}`} start=${EXAMPLE} bodyOf=${(fields) => fields} method="POST"
        address=${`${path}/schema-changes`} validate=${`${path}/schema-changes/validate`} label="Changes as JSON" note="All of them are made, or none." />`
    }
    ${
      chosen === 'drop' &&
      html`<${Confirm} title=${`Drop the table ${name}?`} label="Drop the table" danger typed=${name} act=${drop} close=${dialog.close}
        plan=${html`<p>The declarations of the table and of its streams are deleted, with all rows and files. Its streams have to be stopped. Topics are not changed.</p>`}
        form=${html`<label class="actions"><input type="checkbox" checked=${keepsData} onChange=${(event) => setKeepsData(event.currentTarget.checked)} />Keep the rows and files, as a table that is not registered</label>`} />`
    }`;
}

function Columns({ declared, generated }) {
  const { spec } = declared;
  const declarations = new Map(spec.columns.map((column) => [column.name, column]));
  const groups = new Map();
  for (const group of spec.sequence_groups) {
    for (const name of group.columns) groups.set(name, group.name);
    for (const name of group.ordering ?? []) groups.set(name, `${group.name} (ordering)`);
  }
  const shown = declared.columns.filter((column) => generated || column.made_for === null);
  return html`<${Table} label="Columns" heads=${['Column', 'Type', 'Written by group', 'Merged by', 'Description']}>
    ${shown.map((column) => {
      const one = declarations.get(column.name);
      const isKey = spec.primary_key.includes(column.name);
      return html`<tr key=${column.name}>
        <th scope="row" class="mono">${column.name}</th>
        <td class="mono">${column.type}</td>
        <td>${isKey ? html`<span class="badge bare">key</span>` : (column.made_for ?? groups.get(column.name) ?? '–')}</td>
        <td>${isKey ? '' : (one?.aggregate?.function ?? 'the newest value')}</td>
        <td class="quiet">${column.made_for !== null ? 'generated' : (one?.description ?? '')}</td>
      </tr>`;
    })}
  <//>`;
}

const History = ({ schemas }) =>
  html`<ol class="events">
    ${schemas.map(
      (schema) => html`<li key=${schema.schema_id}>
        <p><strong>Schema ${schema.schema_id}</strong> <span class="quiet"><${Ago} at=${schema.since} /></span></p>
        ${
          schema.changes.length
            ? html`<ul>${schema.changes.map((change) => html`<li>${inWords(change)}</li>`)}</ul>`
            : html`<p class="quiet">the first schema</p>`
        }
      </li>`,
    )}
  </ol>`;

/** A change of a schema in words: its kind, then its fields. */
function inWords({ change, ...fields }) {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return html`${words(change)} ${given.map(([name, value], index) => html`${index > 0 && ', '}<span class="quiet">${words(name)}</span> <code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`)}`;
}

const SHOWN = 100;

export function Storage({ database, table, declared }) {
  const inspected = (view) => apiPath(database, table, 'inspect', view);
  return html`<div class="stack">
    <${Compaction} path=${apiPath(database, table, 'maintenance')} />
    <${TableOperations} database=${database} table=${table} spec=${declared.spec} />
    <div class="split">
      <${View} title="Levels" path=${`${inspected('levels')}?limit=${SHOWN}`} columns=${LEVELS} />
      <${View} title="Tags" path=${`${inspected('tags')}?limit=${SHOWN}`} columns=${TAGS} none="No snapshot has a tag." />
    </div>
    <${View} title="Snapshots" path=${`${inspected('snapshots')}?last=${SHOWN}`} columns=${SNAPSHOTS} newestFirst />
    <${View} title="Compactions" path=${`${inspected('compactions')}?last=${SHOWN}&limit=${SHOWN}`} columns=${COMPACTIONS} newestFirst
      none="None of the kept snapshots is a compaction." />
    <${View} title="Files" path=${`${inspected('files')}?limit=${SHOWN}`} columns=${FILES} />
  </div>`;
}

// Each column: title, field, and how its values are shown.
const number = (text) => ({ text, isNumber: true });
const LEVELS = [
  ['Level', 'level', number(String)],
  ['Files', 'files', number(count)],
  ['Rows', 'rows', number(count)],
  ['Size', 'bytes', number(bytes)],
];
const TAGS = [
  ['Tag', 'tag'],
  ['Snapshot', 'snapshot_id', number(String)],
  ['Committed', 'committed_at', { text: time }],
];
const SNAPSHOTS = [
  ['Snapshot', 'snapshot_id', number(String)],
  ['Committed', 'committed_at', { text: time }],
  ['Kind', 'kind'],
  ['Committer', 'commit_user'],
  ['Schema', 'schema_id', number(String)],
  ['Rows in files', 'rows', number(count)],
  ['Added', 'added_rows', number(count)],
];
const COMPACTIONS = [
  ['Snapshot', 'snapshot_id', number(String)],
  ['Committed', 'committed_at', { text: time }],
  ['Bucket', 'bucket', number(String)],
  ['Files', 'files_in', number(count)],
  ['Into', 'files_out', number(count)],
  ['Rows', 'rows_in', number(count)],
  ['Into', 'rows_out', number(count)],
  ['Written', 'bytes_written', number(bytes)],
];
const FILES = [
  ['File', 'file_name'],
  ['Partition', 'partition'],
  ['Bucket', 'bucket', number(String)],
  ['Level', 'level', number(String)],
  ['Rows', 'rows', number(count)],
  ['Size', 'bytes', number(bytes)],
  ['Origin', 'source'],
  ['Created', 'created_at', { text: time }],
];

function View({ title, path, columns, newestFirst, none }) {
  const { data, problem } = useLive(path, { every: 10_000 });
  if (problem) return html`<${ProblemNote} problem=${problem} title=${title} />`;
  if (!data) return html`<${Card} title=${title}><${Loading} what=${title.toLowerCase()} /><//>`;
  const rows = newestFirst ? [...data.rows].reverse() : data.rows;
  const note =
    data.rows_total > rows.length ? `${count(rows.length)} of ${count(data.rows_total)}` : count(data.rows_total);
  if (!rows.length)
    return html`<${Card} title=${title}><p class="quiet">${none ?? 'There are none: the table has no rows yet.'}</p><//>`;
  return html`<${Card} title=${title} note=${note} flush>
    <${Table} label=${title} className="tall" heads=${columns.map(([name, , kind]) => [name, kind?.isNumber && 'number'])}>
      ${rows.map(
        (row) =>
          html`<tr>${columns.map(([, field, kind]) => {
            const value = row[field];
            const text = value === null ? '–' : (kind?.text ?? String)(value);
            return html`<td class=${kind?.isNumber ? 'number' : field === 'file_name' ? 'mono' : ''}>${text}</td>`;
          })}</tr>`,
      )}
    <//>
  <//>`;
}

function Compaction({ path }) {
  const { data, problem } = useLive(path);
  if (problem) return html`<${ProblemNote} problem=${problem} title="Compaction" />`;
  if (!data) return html`<${Card} title="Compaction"><${Loading} what="compaction" /><//>`;
  const isDue = data.most_runs >= data.compaction_trigger;
  const isBehind = data.most_runs > data.stop_trigger;
  const badge = isBehind
    ? html`<span class="badge bad">behind: streams are slowed down</span>`
    : isDue
      ? html`<span class="badge warn">due</span>`
      : html`<span class="badge good">nothing is due</span>`;
  return html`<${Card} title="Compaction" note=${badge}>
    <${Facts} facts=${[
      [
        'Sorted runs',
        `${plural(data.most_runs, 'run')} at most in a bucket; due from ${data.compaction_trigger}, streams slow down above ${data.stop_trigger}`,
      ],
      ['Buckets with files', count(data.buckets)],
      ['Kept deletes', data.tombstones ? count(data.tombstones) : undefined],
      ['Snapshot', data.snapshot_id ?? 'none yet'],
    ]} />
    ${data.upkeep.length === 0 && html`<p class="note warn">No living runner maintains the table. <code>braid maintain</code> does it without a runner.</p>`}
    ${data.upkeep.map(
      (report) => html`<div class="note" key=${report.worker_id}>
        <p><strong>${report.worker_id}</strong> <span class="quiet">reported <${Ago} at=${report.reported_at} /></span></p>
        <p class="small">${plural(report.compactions, 'compaction')}, ${count(report.rows_in)} rows into ${count(report.rows_out)}; ${plural(report.expired, 'snapshot')} expired; ${plural(report.failures, 'failure')}</p>
        ${report.error && html`<p class="bad">${report.error}</p>`}
      </div>`,
    )}
  <//>`;
}
