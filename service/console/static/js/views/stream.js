// The page of a stream: its state, what is wrong, its records, its position, its dead letters, its declaration.

import { change, description, useLive, useRates } from '../api.js';
import { brief, count, duration, plural, rate } from '../format.js';
import { html, useState } from '../html.js';
import { apiPath, link } from '../route.js';
import {
  Ago,
  Card,
  Declaration,
  Errors,
  Facts,
  Figures,
  Guarded,
  Head,
  Loading,
  Owner,
  ProblemNote,
  State,
  Table,
  words,
} from '../parts/basics.js';
import { ChangeDeclaration, Field, JsonField, Question } from '../parts/forms.js';
import { DeadLetters, StreamActions, StreamPosition } from './stream_actions.js';

export function StreamPage({ database, table, stream }) {
  const path = apiPath(database, table, 'streams', stream);
  const asked = useLive(`${path}/status`, { every: 2000 });
  const declared = useLive(path, { every: 15_000 });
  const rated = useRates();
  const [changing, setChanging] = useState(false);
  const status = asked.data && rated(stream, asked.data);
  const tableName = `${database}.${table}`;
  const home = link(['tables', database, table]);
  return html`
    <${Head} crumbs=${[
      ['Tables', link([])],
      [tableName, home],
    ]} title=${stream}
      badge=${status && html`<${State} state=${status.state} />`}
      actions=${status && html`<${StreamActions} path=${path} table=${tableName} name=${stream} status=${status} home=${home} reload=${asked.reload} />`} />
    <${Owner} spec=${declared.data?.spec} />
    <${ProblemNote} problem=${asked.problem ?? declared.problem} />
    ${!status && !asked.problem && html`<${Loading} what="the stream" />`}
    ${
      status &&
      html`
        <${Trouble} status=${status} />
        <${Figures} figures=${figures(status)} />
        <div class="split">
          <${Records} status=${status} />
          <${Runner} status=${status} topic=${declared.data?.spec.topic} />
        </div>
        <${StreamPosition} path=${path} table=${tableName} name=${stream} status=${status} />
        <${DeadLetters} path=${path} table=${tableName} name=${stream} status=${status} />
        <${Backfills} backfills=${status.backfills} />
        ${description.value?.pushes && html`<${SendRecord} path=${path} table=${tableName} />`}
        ${
          declared.data &&
          html`<${Declaration} title="Declaration" kind="Stream" name=${`${tableName}.${stream}`} spec=${declared.data.spec} path=${path}
            action=${html`<${Guarded} scope="admin" table=${tableName}><button type="button" onClick=${() => setChanging(true)}>Change</button><//>`} />`
        }
        ${changing && html`<${ChangeDeclaration} title=${`Change the stream ${stream}`} path=${path} spec=${declared.data.spec} close=${() => setChanging(false)} done=${declared.reload} />`}
      `
    }
  `;
}

function figures(status) {
  return [
    [
      'Lag',
      status.lag_seconds === null ? '–' : duration(status.lag_seconds),
      null,
      status.lag_seconds > 60 ? 'warn' : '',
    ],
    ['Records waiting', brief(status.lag_records)],
    ['Rate', rate(status.rate)],
    ['Records', brief(status.account.records)],
    [
      'Dead letters',
      count(status.account.dead_lettered),
      status.replayed_dead_letters ? `${count(status.replayed_dead_letters)} replayed` : null,
      status.account.dead_lettered ? 'bad' : '',
    ],
    ['Last commit', html`<${Ago} at=${status.last_commit?.time} />`],
  ];
}

function whatIsNext({ state, failure }) {
  if (failure.next_attempt_at) return ' The runner tries again by itself.';
  if (state === 'FAILED') return ' The runner waits until it is corrected: then start the stream.';
  return ' It was started again, and has committed nothing since.';
}

function Trouble({ status }) {
  const { failure, trace } = status;
  const unmatched = Object.entries(status.unmatched_columns);
  return html`
    ${
      failure
        ? html`<section class=${status.state === 'FAILED' ? 'problem' : 'note warn'} role="status">
            <h2>${failure.cause}</h2>
            <p class="small">Since <${Ago} at=${failure.since} />, ${plural(failure.attempts, 'attempt')}.${failure.crash_loop ? ' Its starts fail again and again without a commit.' : ''}
              ${whatIsNext(status)}</p>
            <${Errors} errors=${failure.errors} />
            ${trace && html`<details><summary>Trace</summary><pre class="small wide" tabindex="0">${trace}</pre></details>`}
          </section>`
        : trace && html`<p class="note warn">${trace}</p>`
    }
    ${
      unmatched.length > 0 &&
      html`<div class="note warn"><strong>No record had a value for ${plural(unmatched.length, 'column')} since the start.</strong>
        A path may be misspelt: ${unmatched.map(([column, path], index) => html`${index > 0 && ', '}<code>${column}</code> from <code>${path}</code>`)}.</div>`
    }
    ${
      status.back_pressure?.factor > 1 &&
      html`<p class="note warn">Compaction of the table is behind, so the stream runs ${status.back_pressure.factor} times more slowly than declared.</p>`
    }
  `;
}

const Records = ({ status }) =>
  html`<${Card} title="Records" note="since the first one">
    <${Facts} facts=${[
      ['Accepted', count(status.account.accepted)],
      ['Merged with a later one', count(status.account.folded)],
      ['Ignored', count(status.account.ignored)],
      ['Dead letters', count(status.account.dead_lettered)],
      ['Skipped offsets', status.skipped_offsets ? count(status.skipped_offsets) : undefined],
      ['Since the start of the query', count(status.records_since_start)],
    ]} />
  <//>`;

const Runner = ({ status, topic }) =>
  html`<${Card} title="Runner">
    <${Facts} facts=${[
      ['Topic', topic ?? '–'],
      ['Runner', status.worker_id ?? 'none has the stream'],
      ['Wanted state', status.desired_state.toLowerCase()],
      ['Reported', html`<${Ago} at=${status.reported_at} />`],
      ['Kafka answered', html`<${Ago} at=${status.broker_reached_at} />`],
      ['Storage answered', html`<${Ago} at=${status.storage_reached_at} />`],
      [
        'Declaration',
        `version ${status.version}${status.followed_version !== null && status.followed_version !== status.version ? `, the runner follows ${status.followed_version}` : ''}`,
      ],
      ['Epoch', status.epoch ?? '–'],
      [
        'Consumer group',
        status.mirror ? `${status.mirror.group}${status.mirror.error ? `: ${status.mirror.error}` : ''}` : undefined,
      ],
    ]} />
  <//>`;

/** A form that sends a record to the topic of the stream. */
function SendRecord({ path, table }) {
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const record = { ...(key && { key }), value: value || null };
  return html`<${Question} title="Send a record to the topic" label="Send the record" scope="write" table=${table}
    ask=${() => change('POST', `${path}/records`, record)} show=${Sent}>
    <${Field} label="Kafka key" note="Empty: the record has none." value=${key} onInput=${setKey} />
    <${JsonField} label="Value" note="As a message of the stream's format. Empty: the record is a tombstone." value=${value} onInput=${setValue} />
  <//>`;
}

const Sent = ({ records: [one] }) =>
  html`<p role="status" class="note ${one.outcome === 'accepted' ? 'good' : 'warn'}">${
    one.outcome === 'accepted'
      ? `The brokers have the record: partition ${one.partition}, offset ${one.offset}.`
      : `The record was not sent: ${one.message ?? words(one.reason)}`
  }</p>`;

const Backfills = ({ backfills }) =>
  backfills.length > 0 &&
  html`<${Card} title="Backfills" flush>
    <${Table} label="Backfills" heads=${['Name', 'State', 'Source', ['Done', 'number'], ['Rate', 'number'], ['Left', 'number']]}>
      ${backfills.map(
        (
          one,
        ) => html`<tr key=${one.name}><th scope="row">${one.name}</th><td><${State} state=${one.state} /></td><td>${one.source}</td>
          <td class="number">${one.done === null ? '–' : `${Math.floor(one.done * 100)} %`}</td><td class="number">${rate(one.rows_per_second)}</td><td class="number">${duration(one.seconds_left)}</td></tr>`,
      )}
    <//>
  <//>`;
