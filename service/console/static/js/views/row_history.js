// What a row is made of, and what it would be: its records on a time line, the cells with what won and lost, the kept
// snapshots, and one record more or some less.

import { change, useLive } from '../api.js';
import { duration, exactJson, moment, plural, time, value as shown } from '../format.js';
import { html, useEffect, useState } from '../html.js';
import { apiPath } from '../route.js';
import { Card, Facts, State, Table } from '../parts/basics.js';
import { Choice, Field, JsonField, Question } from '../parts/forms.js';

const EVENTS_MAX = 60;

export function RowLanes({ explanation, selected, select }) {
  const events = eventsOf(explanation.versions);
  const shownEvents = events.slice(-EVENTS_MAX);
  const lanes = [...new Set(events.map((event) => event.stream))].sort();
  const winners = winsOf(explanation.columns);
  const version = explanation.versions.find((one) => one.version === selected);
  const note =
    events.length > shownEvents.length
      ? `the newest ${EVENTS_MAX} of ${events.length} records`
      : plural(events.length, 'record');
  return html`<${Card} title="Time line" note=${note}>
    <div class="wide" tabindex="0" role="region" aria-label="Time line"><table class="lanes">
      <thead><tr><td></td>${shownEvents.map(
        (event, index) =>
          html`<th scope="col" title=${time(event.at)}><span class="nowrap">${clock(event.at)}</span><span class="small quiet nowrap">${gap(shownEvents[index - 1], event)}</span></th>`,
      )}</tr></thead>
      <tbody>${lanes.map(
        (lane) =>
          html`<tr key=${lane}><th scope="row">${lane}</th>${shownEvents.map((event) =>
            event.stream === lane
              ? html`<td><${Mark} event=${event} wins=${winners.get(event.version)} selected=${selected} select=${select} /></td>`
              : html`<td></td>`,
          )}</tr>`,
      )}</tbody>
    </table></div>
    <p class="small quiet">Filled: the record gives a value of the row. Select a record to see what it wrote.</p>
    ${version && html`<${Version} version=${version} wins=${winners.get(version.version)} />`}
  <//>`;
}

function Mark({ event, wins, selected, select }) {
  const isSelected = event.version === selected;
  const won = wins ? `gives ${wins.join(', ')}` : 'gives no value';
  return html`<button type="button" class="mark ${wins ? 'won' : ''}" aria-pressed=${isSelected}
    aria-label=${`Record of ${event.stream}, ${time(event.at)}: ${won}`} onClick=${() => select(isSelected ? null : event.version)}></button>`;
}

const Version = ({ version, wins }) =>
  html`<div class="note">
    <${Facts} facts=${[
      ['Gives', wins ? wins.join(', ') : 'no value of the row'],
      [
        'Values',
        html`<span class="mono">${
          Object.entries(version.values)
            .map(([name, one]) => `${name} = ${shown(one)}`)
            .join(', ') || 'none'
        }</span>`,
      ],
      ...Object.entries(version.groups).map(([group, place]) => [
        `Record of ${group}`,
        place.arrival
          ? `${place.topic ?? 'unknown topic'}, partition ${place.arrival.partition}, offset ${place.arrival.offset}`
          : 'not known',
      ]),
      [
        'Committed',
        version.snapshot_id === null
          ? version.compacted
            ? 'merged by a compaction'
            : 'not known'
          : `snapshot ${version.snapshot_id}, ${time(version.commit_time)}`,
      ],
      ['File', version.file ? html`<span class="mono">${version.file}</span>, level ${version.level}` : undefined],
    ]} />
  </div>`;

/** Returns the records of versions in the order of their times: one for each group of a version, or one without groups. */
function eventsOf(versions) {
  const events = versions.flatMap((version) => {
    const places = Object.values(version.groups);
    const of = (stream, at) => ({
      version: version.version,
      stream: stream ?? 'unknown',
      at: at ?? version.commit_time,
    });
    return places.length
      ? places.map((place) => of(place.stream ?? version.stream, place.arrived_at))
      : [of(version.stream, null)];
  });
  const when = (event) => (event.at ? moment(event.at).getTime() : 0);
  return events.sort((one, other) => when(one) - when(other) || one.version - other.version);
}

/** Returns by version the columns whose value it gives. */
function winsOf(columns) {
  const wins = new Map();
  for (const [name, { winner }] of Object.entries(columns)) {
    if (winner) wins.set(winner.version, [...(wins.get(winner.version) ?? []), name]);
  }
  return wins;
}

const clock = (at) => (at ? time(at).slice(11) : '–');

function gap(before, event) {
  if (!before?.at || !event.at) return '';
  const seconds = (moment(event.at) - moment(before.at)) / 1000;
  return seconds > 0 ? ` +${duration(seconds)}` : '';
}

const LOSERS_SHOWN = 3;

// Reasons that concern values which stand no chance, or which are part of the value: they are not struck through.
const NOT_LOST = ['aggregated', 'null-skipped', 'kept'];

export function RowCells({ explanation, declared, selected }) {
  const [generated, setGenerated] = useState(false);
  const hidden = new Set(declared.columns.filter((column) => column.made_for !== null).map((column) => column.name));
  const names = Object.keys(explanation.columns).filter((name) => generated || !hidden.has(name));
  const versions = new Map(explanation.versions.map((version) => [version.version, version]));
  const toggle = html`<label class="actions"><input type="checkbox" checked=${generated}
    onChange=${(event) => setGenerated(event.currentTarget.checked)} />Show generated columns</label>`;
  return html`<${Card} title="Values" note="the winner of each cell, and what lost" actions=${toggle} flush>
    <${Table} label="Values" heads=${['Column', 'Value', 'Given by', 'What lost']}>
      ${names.map(
        (name) =>
          html`<${Cell} key=${name} name=${name} cell=${explanation.columns[name]} versions=${versions} selected=${selected} />`,
      )}
    <//>
  <//>`;
}

function Cell({ name, cell, versions, selected }) {
  const losers = cell.others.filter((other) => other.reason !== 'null-skipped' && versions.has(other.version));
  const isSelected = selected !== null && cell.winner?.version === selected;
  return html`<tr class=${isSelected ? 'selected' : ''}>
    <th scope="row"><span class="mono">${name}</span>${cell.group && html`<p class="small quiet">${cell.group}</p>`}</th>
    <td class="mono ${cell.value === null ? 'quiet' : 'winner'}">${shown(cell.value)}</td>
    <td>${cell.winner ? html`<${Place} winner=${cell.winner} />` : html`<span class="quiet">${cell.reason === 'aggregated' ? 'several records' : 'no record'}</span>`}
      ${cell.reason && html`<p><span class="badge bare">${cell.reason}</span></p>`}</td>
    <td><${Losers} name=${name} losers=${losers} versions=${versions} selected=${selected} /></td>
  </tr>`;
}

const Place = ({ winner }) =>
  html`<strong>${winner.stream ?? 'unknown stream'}</strong>
    ${winner.arrival && html` <span class="quiet nowrap">partition ${winner.arrival.partition}, offset ${winner.arrival.offset}</span>`}
    ${winner.arrived_at && html`<p class="small quiet">${time(winner.arrived_at)}</p>`}`;

function Losers({ name, losers, versions, selected }) {
  if (!losers.length) return html`<span class="quiet">–</span>`;
  const line = (loser) => {
    const version = versions.get(loser.version);
    const text = name in version.values ? shown(version.values[name]) : 'null';
    return html`<li key=${loser.version} class=${loser.version === selected ? 'selected' : ''}>
      ${NOT_LOST.includes(loser.reason) ? html`<span class="mono">${text}</span>` : html`<s class="mono">${text}</s>`}
      <span class="small quiet">${loser.reason}${version.stream && ` · ${version.stream}`}</span>
    </li>`;
  };
  const rest = losers.slice(LOSERS_SHOWN);
  return html`<ul class="losers">${losers.slice(0, LOSERS_SHOWN).map(line)}</ul>
    ${rest.length > 0 && html`<details><summary class="small">${plural(rest.length, 'older value')}</summary><ul class="losers">${rest.map(line)}</ul></details>`}`;
}

const LAST = 200;

/** `snapshot` is the id of the shown one, null for the newest; `show` is called with another id. */
export function SnapshotSlider({ database, table, snapshot, show, changes }) {
  const { data, reload } = useLive(`${apiPath(database, table, 'inspect', 'snapshots')}?last=${LAST}`, { every: 0 });
  const [moving, setMoving] = useState(null);
  useEffect(() => {
    if (changes) reload();
  }, [changes]);
  const kept = data?.rows ?? [];
  if (kept.length < 2) return null;
  const last = kept.length - 1;
  const found = snapshot === null ? last : kept.findIndex((one) => String(one.snapshot_id) === snapshot);
  const at = moving ?? (found < 0 ? last : found);
  const chosen = kept[at];
  const text = `Snapshot ${chosen.snapshot_id}, ${time(chosen.committed_at)}`;
  const choose = (index) => {
    setMoving(null);
    show(index === last ? null : kept[index].snapshot_id);
  };
  return html`<${Card}><div class="slider">
    <label for="snapshot">${text}${at === last && html` <span class="badge good">newest</span>`}</label>
    <div class="actions">
      <button type="button" disabled=${at === 0} onClick=${() => choose(at - 1)}>Earlier</button>
      <input id="snapshot" type="range" min="0" max=${last} value=${at} aria-valuetext=${text}
        onInput=${(event) => setMoving(Number(event.currentTarget.value))}
        onChange=${(event) => choose(Number(event.currentTarget.value))} />
      <button type="button" disabled=${at === last} onClick=${() => choose(at + 1)}>Later</button>
    </div>
  </div><//>`;
}

export function Hypotheses({ database, table, rowKey, explanation }) {
  const { data } = useLive(apiPath(database, table, 'streams'), { every: 0 });
  if (!data?.streams.length) return null;
  const ask = (hypothesis) =>
    change('POST', apiPath(database, table, 'rows', 'explain'), { key: rowKey, ...hypothesis }, { exact: true });
  return html`<div class="split">
    <${WhatIf} streams=${data.streams} explanation=${explanation} ask=${ask} />
    <${Without} streams=${data.streams} ask=${ask} />
  </div>`;
}

function WhatIf({ streams, explanation, ask }) {
  const [name, setName] = useState(streams[0].name);
  const stream = streams.find((one) => one.name === name);
  const [texts, setTexts] = useState({}); // what was typed, by stream
  const template = templateOf(stream.spec, { ...explanation.key, ...valuesOf(explanation) });
  const { key = template.key, value = template.value } = texts[name] ?? {};
  const type = (part) => (text) => setTexts({ ...texts, [name]: { key, value, [part]: text } });
  const question = () => ask({ what_if: { stream: name, record: { ...(key === null ? {} : { key }), value } } });
  return html`<${Question} title="What if this record arrived now?" label="Try the record" note="Nothing is written." ask=${question} show=${Answer}>
    <${Streams} streams=${streams} value=${name} onChange=${setName} />
    ${key !== null && html`<${Field} label="Kafka key" value=${key} onInput=${type('key')} />`}
    <${JsonField} label="Value" note="As a message of the stream's format." rows="7" value=${value} onInput=${type('value')} />
  <//>`;
}

function Without({ streams, ask }) {
  const [name, setName] = useState(streams[0].name);
  const [offset, setOffset] = useState('');
  const [partition, setPartition] = useState('');
  const given = (field, text) => (text.trim() ? { [field]: Number(text) } : {});
  const question = () =>
    ask({ without: { stream: name, ...given('from_offset', offset), ...given('partition', partition) } });
  return html`<${Question} title="What without these records?" label="Leave them out" note="Nothing is written." ask=${question} show=${Answer}>
    <${Streams} streams=${streams} value=${name} onChange=${setName} />
    <div class="fields">
      <${Field} label="From offset" note="Empty: all records." inputmode="numeric" pattern="[0-9]*" value=${offset} onInput=${setOffset} />
      <${Field} label="Partition" note="Empty: all partitions." inputmode="numeric" pattern="[0-9]*" value=${partition} onInput=${setPartition} />
    </div>
  <//>`;
}

const Streams = ({ streams, value, onChange }) =>
  html`<${Field} label="Stream">
    ${(input) => html`<${Choice} ...${input} choices=${streams.map((stream) => stream.name)} value=${value} onChange=${onChange} />`}
  <//>`;

function Answer(answer) {
  const changed = Object.entries(answer.changed);
  const { result, unknown } = answer;
  return html`<div role="status" class="stack">
    ${result && html`<p>The record would be: <${State} state=${result.outcome} /> ${result.reason && html`<code>${result.reason}</code> `}${result.message}</p>`}
    ${!answer.exists && html`<p class="note warn">There would be no row.</p>`}
    ${unknown.length > 0 && html`<p class="note warn">Not known, because a compaction has merged these records with others: ${unknown.join(', ')}.</p>`}
    ${
      changed.length === 0
        ? html`<p>No ${unknown.length ? 'other ' : ''}value would change.</p>`
        : html`<${Table} label="Changed values" heads=${['Column', 'Now', 'Then']}>
            ${changed.map(
              ([name, { before, after }]) => html`<tr><th scope="row" class="mono">${name}</th>
                <td class="mono"><s>${shown(before)}</s></td><td class="mono winner">${shown(after)}</td></tr>`,
            )}
          <//>`
    }
  </div>`;
}

const valuesOf = (explanation) =>
  Object.fromEntries(Object.entries(explanation.columns).map(([name, column]) => [name, column.value]));

/** Returns a record of a stream with given values, as a text to be changed; the key is null if no column is read from it. */
function templateOf(spec, values) {
  const message = {};
  const key = {};
  let wholeKey = null;
  for (const { column, path, source } of spec.columns) {
    const one = values[column] ?? null;
    if (source === 'key' && path === null) wholeKey = shown(one);
    else if (source === 'key') place(key, path, one);
    else if (source === 'value') place(message, path ?? column, one);
  }
  return {
    key: wholeKey ?? (Object.keys(key).length ? exactJson(key) : null),
    value: exactJson(message, 2),
  };
}

function place(target, path, value) {
  const names = path.split('.');
  const last = names.pop();
  let object = target;
  for (const name of names) object = object[name] ??= {};
  object[last] = value;
}
