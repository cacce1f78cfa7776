// The page of a stream: its state, what is wrong, its records, its position, its dead letters, its declaration.

import { useLive, withRate } from '../api.js';
import { brief, count, duration, plural, rate } from '../format.js';
import { html, useRef } from '../html.js';
import { apiPath, link } from '../route.js';
import {
  Ago,
  Card,
  Declaration,
  Errors,
  Facts,
  Figures,
  Head,
  Loading,
  Owner,
  ProblemNote,
  State,
  Table,
} from '../parts/basics.js';
import { DeadLetters, StreamActions, StreamPosition } from './stream_actions.js';

export function StreamPage({ database, table, stream }) {
  const path = apiPath(database, table, 'streams', stream);
  const asked = useLive(`${path}/status`, { every: 2000 });
  const declared = useLive(path, { every: 15_000 });
  const status = useRate(asked.data);
  const home = link(['tables', database, table]);
  return html`
    <${Head} crumbs=${[
      ['Tables', link([])],
      [`${database}.${table}`, home],
    ]} title=${stream}
      badge=${status && html`<${State} state=${status.state} />`}
      actions=${status && html`<${StreamActions} path=${path} name=${stream} status=${status} home=${home} reload=${asked.reload} />`} />
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
        <${StreamPosition} path=${path} name=${stream} status=${status} />
        <${DeadLetters} path=${path} name=${stream} status=${status} />
        <${Backfills} backfills=${status.backfills} />
        ${
          declared.data &&
          html`<${Declaration} title="Declaration" kind="Stream" name=${`${database}.${table}.${stream}`} spec=${declared.data.spec} path=${path} />`
        }
      `
    }
  `;
}

/** Returns a status with the rate since the status before. */
function useRate(status) {
  const before = useRef(null);
  if (status && status !== before.current?.source)
    before.current = { ...withRate(status, before.current), source: status };
  return status && before.current;
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

function Trouble({ status }) {
  const { failure, trace } = status;
  const unmatched = Object.entries(status.unmatched_columns);
  return html`
    ${
      failure
        ? html`<section class=${status.state === 'FAILED' ? 'problem' : 'note warn'} role="status">
            <h2>${failure.cause}</h2>
            <p class="small">Since <${Ago} at=${failure.since} />, ${plural(failure.attempts, 'attempt')}.
              ${failure.next_attempt_at ? ' The runner tries again by itself.' : ' The runner waits until it is corrected: then start the stream.'}</p>
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
