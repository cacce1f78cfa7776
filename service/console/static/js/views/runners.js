// The runners: which of them live, the streams that they have, and the tables that they compact.

import { useLive } from '../api.js';
import { count, plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../route.js';
import { Ago, Card, Empty, Facts, Head, Loading, ProblemNote, State } from '../parts/basics.js';

const STREAMS_SHOWN = 200;

export function RunnersPage() {
  const { data, problem } = useLive('runners');
  return html`
    <${Head} title="Runners" />
    <${ProblemNote} problem=${problem} />
    ${!data && !problem && html`<${Loading} what="the runners" />`}
    ${
      data?.runners.length === 0 &&
      html`<div class="card"><${Empty} title="No runner has reported yet">
        <p>Runners read the topics. <code>braid runner</code> starts one.</p>
      <//></div>`
    }
    ${data?.runners.map((runner) => html`<${Runner} key=${runner.name} runner=${runner} />`)}
    ${data?.unreadable.map((name) => html`<p class="note warn">The report of the runner ${name} cannot be read: it is of another version.</p>`)}
  `;
}

function Runner({ runner }) {
  const { name, alive, started_at: startedAt, reported_at: reportedAt, tables } = runner;
  const streams = Object.entries(runner.streams);
  const rest = streams.length - STREAMS_SHOWN;
  const badge = html`<span class="badge ${alive ? 'good' : 'bad'}">${alive ? 'alive' : 'gone'}</span>`;
  return html`<${Card} title=${name} note=${badge}>
    <${Facts} facts=${[
      ['Started', html`<${Ago} at=${startedAt} />`],
      ['Reported', html`<${Ago} at=${reportedAt} />`],
      ['Compacts', tables.length ? tables.join(', ') : 'no table'],
    ]} />
    <details><summary>${plural(streams.length, 'stream')}</summary>
      <ul>${streams.slice(0, STREAMS_SHOWN).map(([key, state]) => {
        const [table, stream] = key.split('/');
        return html`<li class="actions"><a href=${link(['tables', ...table.split('.'), 'streams', stream])}>${table} / ${stream}</a><${State} state=${state} /></li>`;
      })}</ul>
      ${rest > 0 && html`<p class="small quiet">and ${count(rest)} more</p>`}
    </details>
  <//>`;
}
