// The forms that declare tables and streams, with what the service says of them.

import { change, useLive } from '../api.js';
import { bandsOf } from '../declarations.js';
import { value as shown } from '../format.js';
import { html, useState } from '../html.js';
import { apiPath, go, link, streamsPath } from '../route.js';
import { Card, Declaration, Guarded, Head, Loading, ProblemNote, State } from '../parts/basics.js';
import { Choice, Field, furtherFields, JsonField, useVerdict, Verdict } from '../parts/forms.js';

const ENGINES = [
  ['partial-update', 'partial-update: each group has its newest record'],
  ['aggregation', 'aggregation: values are combined'],
  ['deduplicate', 'deduplicate: the last record'],
  ['first-row', 'first-row: the first record'],
];
const TYPES = ['STRING', 'INT', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'DECIMAL(10, 2)', 'DATE', 'TIMESTAMP(3)', 'BYTES'];
const COLUMN = { name: '', type: 'STRING', isKey: false, group: '', orders: false };
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,79}$/;

export function NewTable() {
  const [database, setDatabase] = useState('');
  const [name, setName] = useState('');
  const [engine, setEngine] = useState('partial-update');
  const [columns, setColumns] = useState([{ ...COLUMN, name: 'id', type: 'BIGINT', isKey: true }, COLUMN]);
  const [more, setMore] = useState('');
  const [problem, setProblem] = useState(null);
  const further = furtherFields(more);
  const spec = { ...specOf(columns, engine), ...further.fields };
  const hasNames = NAME.test(database) && NAME.test(name) && !further.wrong;
  const path = hasNames ? apiPath(database, name) : null;
  const verdict = useVerdict(path && `${path}/validate`, spec);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await change('PUT', path, spec, { headers: { 'if-none-match': '*' } });
      go(link(['tables', database, name]));
    } catch (error) {
      setProblem(error);
    }
  };
  return html`
    <${Head} crumbs=${[['Tables', link([])]]} title="New table" />
    <div class="split form-and-answer">
      <form class="stack" onSubmit=${submit}>
        <${Card} title="Table">
          <div class="fields">
            <${Field} label="Database" placeholder="shop" value=${database} onInput=${setDatabase} required />
            <${Field} label="Name" placeholder="orders" value=${name} onInput=${setName} required />
          </div>
          <${Field} label="How the records of a key become one row">
            ${(input) => html`<${Choice} ...${input} choices=${ENGINES} value=${engine} onChange=${setEngine} />`}
          <//>
        <//>
        <${Columns} columns=${columns} setColumns=${setColumns} hasGroups=${engine === 'partial-update'} />
        <${Card} title="More fields">
          <${JsonField} label="As JSON" note=${further.wrong ?? 'Other fields of the declaration, such as "completeness", "staleness", "options" or "views".'}
            wrong=${further.wrong} placeholder='{"buckets": 8}' value=${more} onInput=${setMore} />
        <//>
        <${ProblemNote} problem=${problem} />
        <${Guarded} scope="admin" table=${path && `${database}.${name}`}><button class="main" disabled=${!verdict.answer?.valid || !verdict.isCurrent}>Create the table</button><//>
      </form>
      <div class="stack answer">
        <${Verdict} verdict=${verdict} accepted="The service would create this table." waiting="Give the database and the name, and the service says what it would answer." />
        <${Declaration} title="The same by other means" first="curl" kind="Table" name=${`${database || 'DATABASE'}.${name || 'TABLE'}`}
          spec=${spec} path=${apiPath(database || 'DATABASE', name || 'TABLE')} />
      </div>
    </div>
  `;
}

function Columns({ columns, setColumns, hasGroups }) {
  const set = (index, field, value) =>
    setColumns(columns.map((column, at) => (at === index ? { ...column, [field]: value } : column)));
  const remove = (index) => setColumns(columns.filter((_, at) => at !== index));
  const groups = [...new Set(columns.map((column) => column.group).filter(Boolean))];
  const text = (
    index,
    field,
    label,
    rest = {},
  ) => html`<input ...${rest} aria-label=${`${label} of column ${index + 1}`} value=${columns[index][field]}
    autocomplete="off" spellcheck=${false} onInput=${(event) => set(index, field, event.currentTarget.value)} />`;
  const check = (
    index,
    field,
    label,
  ) => html`<label class="check"><input type="checkbox" checked=${columns[index][field]}
    onChange=${(event) => set(index, field, event.currentTarget.checked)} /><span>${label}<span class="hidden"> (column ${index + 1})</span></span></label>`;
  return html`<${Card} title="Columns" actions=${html`<button type="button" onClick=${() => setColumns([...columns, { ...COLUMN, group: columns.at(-1)?.group ?? '' }])}>Add a column</button>`}>
    ${hasGroups && html`<p class="small quiet">Columns of one stream form a sequence group. If several columns order the records of a group, they count in this order; without one, records count as they arrive.</p>`}
    <datalist id="types">${TYPES.map((type) => html`<option value=${type} />`)}</datalist>
    <datalist id="groups">${groups.map((group) => html`<option value=${group} />`)}</datalist>
    <ul class="column-rows">${columns.map(
      (column, index) => html`<li key=${index}>
        ${text(index, 'name', 'Name', { placeholder: 'name' })}
        ${text(index, 'type', 'Type', { list: 'types', class: 'mono' })}
        ${hasGroups && (column.isKey ? html`<span class="quiet small">in every group</span>` : text(index, 'group', 'Group', { list: 'groups', placeholder: 'group' }))}
        ${check(index, 'isKey', 'key')}
        ${hasGroups && (column.isKey ? html`<span></span>` : check(index, 'orders', 'orders'))}
        <button type="button" class="plain danger" aria-label=${`Remove column ${index + 1}`} onClick=${() => remove(index)}>Remove</button>
      </li>`,
    )}</ul>
  <//>`;
}

/** Returns the declaration of the form's columns; fields with defaults are left out. */
function specOf(columns, engine) {
  const named = columns.filter((column) => column.name.trim());
  const spec = {
    columns: named.map(({ name, type }) => ({ name: name.trim(), type: type.trim() })),
    primary_key: named.filter((column) => column.isKey).map((column) => column.name.trim()),
  };
  if (engine !== 'partial-update') return { ...spec, merge_engine: engine };
  const grouped = Map.groupBy(
    named.filter((column) => !column.isKey && column.group.trim()),
    (column) => column.group.trim(),
  );
  const groups = [...grouped].map(([name, members]) => {
    const ordering = members.filter((column) => column.orders).map((column) => column.name.trim());
    const others = members.filter((column) => !column.orders).map((column) => column.name.trim());
    return { name, ...(ordering.length && { ordering }), columns: others };
  });
  return groups.length ? { ...spec, sequence_groups: groups } : spec;
}

const FORMATS = ['json', 'raw', 'debezium', 'maxwell', 'canal'];
const STATES = [
  ['RUNNING', 'it starts at once'],
  ['STOPPED', 'it waits until it is started'],
];
const PARTS = ['value', 'key', 'header', 'timestamp', 'partition', 'offset', 'topic'];

export function NewStream({ database, table }) {
  const declared = useLive(apiPath(database, table), { every: 0 });
  const streams = useLive(streamsPath(database, table), { every: 0, list: 'streams' });
  const here = link(['tables', database, table]);
  return html`
    <${Head} crumbs=${[
      ['Tables', link([])],
      [`${database}.${table}`, here],
    ]} title="New stream" />
    <${ProblemNote} problem=${declared.problem ?? streams.problem} />
    ${
      declared.data && streams.data
        ? html`<${Form} database=${database} table=${table} declared=${declared.data} bands=${bandsOf(declared.data, streams.data)} />`
        : !declared.problem && html`<${Loading} what="the table" />`
    }
  `;
}

function Form({ database, table, declared, bands }) {
  const free = bands.find((band) => band.streams.length === 0) ?? bands[0];
  const [group, setGroup] = useState(free?.name ?? '');
  const [typedName, setTypedName] = useState(null);
  const [topic, setTopic] = useState('');
  const [format, setFormat] = useState('json');
  const [start, setStart] = useState('earliest');
  const [state, setState] = useState('RUNNING');
  const [mapping, setMapping] = useState({});
  const [more, setMore] = useState('');
  const [sample, setSample] = useState('');
  const [sampleKey, setSampleKey] = useState('');
  const [problem, setProblem] = useState(null);
  const name = typedName ?? group;
  const band = bands.find((one) => (one.name ?? '') === group);
  const columns = [...declared.spec.primary_key, ...(band?.columns ?? []).map((column) => column.name)];
  const further = furtherFields(more);
  const definition = { ...definitionOf({ name, topic, group, format, start, columns, mapping }), ...further.fields };
  const path = name.trim() && topic.trim() && !further.wrong ? apiPath(database, table, 'streams', name.trim()) : null;
  const samples = sample.trim() ? [{ ...(sampleKey && { key: sampleKey }), value: sample }] : [];
  const trial = samples.length ? { ...definition, samples } : definition;
  const verdict = useVerdict(path && `${path}/validate`, trial);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await change('PUT', `${path}?initial_state=${state}`, definition, { headers: { 'if-none-match': '*' } });
      go(link(['tables', database, table, 'streams', name.trim()]));
    } catch (error) {
      setProblem(error);
    }
  };
  const choices = bands.map((one) => [
    one.name ?? '',
    `${one.name ?? 'columns outside of groups'}${one.streams.length ? ' (has a stream)' : ''}`,
  ]);
  const pathOf = apiPath(database, table, 'streams', name || 'STREAM');
  return html`<div class="split form-and-answer">
    <form class="stack" onSubmit=${submit}>
      <${Card} title="Stream">
        <div class="fields">
          ${bands.length > 1 && html`<${Field} label="Writes the group">${(input) => html`<${Choice} ...${input} choices=${choices} value=${group} onChange=${setGroup} />`}<//>`}
          <${Field} label="Name" value=${name} onInput=${setTypedName} required />
          <${Field} label="Kafka topic" placeholder="orders" value=${topic} onInput=${setTopic} required />
          <${Field} label="Format of messages" note="Others need options: give them as JSON below.">${(input) => html`<${Choice} ...${input} choices=${FORMATS} value=${format} onChange=${setFormat} />`}<//>
          <${Field} label="Begins at">${(input) =>
            html`<${Choice} ...${input} choices=${[
              ['earliest', 'the first record'],
              ['latest', 'new records only'],
            ]} value=${start} onChange=${setStart} />`}<//>
          <${Field} label="After the registration">${(input) => html`<${Choice} ...${input} choices=${STATES} value=${state} onChange=${setState} />`}<//>
        </div>
      <//>
      <${Card} title="Where columns come from" note="by default the field of the column's name">
        <ul class="column-rows mapping">${columns.map((column) => {
          const { source = 'value', path: field = '' } = mapping[column] ?? {};
          const set = (part, text) => setMapping({ ...mapping, [column]: { source, path: field, [part]: text } });
          return html`<li key=${column}><span class="mono">${column}</span>
            <${Choice} choices=${PARTS} value=${source} onChange=${(text) => set('source', text)} aria-label=${`Part of the record for ${column}`} />
            <input class="mono" value=${field} placeholder=${source === 'key' ? 'the whole key' : column} aria-label=${`Field for ${column}`} autocomplete="off" spellcheck=${false}
              onInput=${(event) => set('path', event.currentTarget.value)} /></li>`;
        })}</ul>
      <//>
      <${Card} title="More fields">
        <${JsonField} label="As JSON" note=${further.wrong ?? 'Other fields of the declaration, such as "kafka", "where", "delete_when" or "dead_letter_budget".'}
          wrong=${further.wrong} placeholder='{"kafka": {"cluster": "shop"}}' value=${more} onInput=${setMore} />
      <//>
      <${ProblemNote} problem=${problem} />
      <${Guarded} scope="admin" table=${`${database}.${table}`}><button class="main" disabled=${!verdict.answer?.valid || !verdict.isCurrent}>Register the stream</button><//>
    </form>
    <div class="stack answer">
      <${Verdict} verdict=${verdict} accepted="The service would register this stream." waiting="Give the name and the topic, and the service says what it would answer.">
        ${verdict.answer?.samples?.map((result, index) => html`<${Sample} key=${index} result=${result} />`)}
      <//>
      <${Card} title="Try a record" note="nothing is written">
        <${Field} label="Kafka key" value=${sampleKey} onInput=${setSampleKey} />
        <${JsonField} label="Value" rows="5" placeholder='{"id": 7}' value=${sample} onInput=${setSample} />
      <//>
      <${Declaration} title="The same by other means" first="curl" kind="Stream" name=${`${database}.${table}.${name || 'STREAM'}`} spec=${definition} path=${pathOf} />
    </div>
  </div>`;
}

const Sample = ({ result }) =>
  html`<div class="note"><p>The record would be: <${State} state=${result.outcome} /> ${result.reason && html`<code>${result.reason}</code>`}</p>
    ${result.message && html`<p>${result.message}</p>`}
    ${result.changes.map((one) => html`<p>${one}</p>`)}
    ${result.row && html`<table><tbody>${Object.entries(result.row).map(([name, one]) => html`<tr><th scope="row" class="mono">${name}</th><td class="mono">${shown(one)}</td></tr>`)}</tbody></table>`}
  </div>`;

/** Returns the declaration of the form; fields with defaults are left out. */
function definitionOf({ name, topic, group, format, start, columns, mapping }) {
  const isMapped = columns.some((column) => mapping[column]?.path || (mapping[column]?.source ?? 'value') !== 'value');
  const mapped = columns.map((column) => {
    const { source = 'value', path = '' } = mapping[column] ?? {};
    return { column, ...(source !== 'value' && { source }), ...(path && { path }) };
  });
  return {
    topic: topic.trim(),
    ...(group && group !== name.trim() && { sequence_group: group }),
    ...(format !== 'json' && { format: format === 'debezium' ? { type: format } : format }),
    ...(start !== 'earliest' && { starting_offsets: start }),
    ...(isMapped && { columns: mapped }),
  };
}
