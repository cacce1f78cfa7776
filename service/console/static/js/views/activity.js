// What was done and is being done: the audit log, and operations, which are long work on tables.

import { change, useLive, useSettled } from '../api.js';
import { count, plural, time, value as shown } from '../format.js';
import { html, useState } from '../html.js';
import { apiPath, link } from '../route.js';
import { Ago, Card, Facts, Guarded, Head, Loading, Meter, ProblemNote, State, words } from '../parts/basics.js';
import { Confirm, Field } from '../parts/forms.js';

const PAGE = 50;
const PAGE_MAX = 1000; // of the API
const FACT_MAX = 2000; // characters of a value in the audit log

export const AuditPage = () =>
  html`<${Head} title="Audit log" /><${AuditLog} path="audit" filters=${['table', 'stream', 'actor']} />`;

export const TableAudit = ({ database, table }) =>
  html`<${AuditLog} path=${apiPath(database, table, 'audit')} filters=${['stream', 'actor']} />`;

/** Who changed what, the newest change first; `filters` are fields that are compared as a whole. */
function AuditLog({ path, filters }) {
  const [wanted, setWanted] = useState({});
  const [size, setSize] = useState(PAGE);
  const given = Object.entries(wanted).filter(([, text]) => text);
  const query = useSettled(new URLSearchParams([...given, ['page_size', size]]).toString());
  const { data, problem } = useLive(`${path}?${query}`, { every: 10_000 });
  return html`<${Card} title="Changes" note="the newest first">
    <div class="fields">${filters.map(
      (name) =>
        html`<${Field} key=${name} label=${`${words(name)[0].toUpperCase()}${words(name).slice(1)}`} value=${wanted[name] ?? ''} onInput=${(text) => setWanted({ ...wanted, [name]: text.trim() })} />`,
    )}</div>
    <${ProblemNote} problem=${problem} />
    ${!data && !problem && html`<${Loading} what="the audit log" />`}
    ${data?.entries.length === 0 && html`<p class="quiet">No change was found${data.next_page_token && ' among the newest ones'}.</p>`}
    <ol class="events">${data?.entries.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} />`)}</ol>
    ${data?.next_page_token && size < PAGE_MAX && html`<div class="actions"><button type="button" onClick=${() => setSize(Math.min(2 * size, PAGE_MAX))}>Show older changes</button></div>`}
  <//>`;
}

const Entry = ({ entry: { actor, action, table, stream, time: at, changes, changes_left_out: leftOut } }) =>
  html`<li>
    <p><strong>${words(action)}</strong> ${table && html`<${TableLink} table=${table} stream=${stream} />`} <span class="quiet"><${Ago} at=${at} /></span></p>
    <p class="small quiet">${time(at)}, ${actor.name}${actor.address && ` from ${actor.address}`}${actor.request_id && html`, request <code>${actor.request_id}</code>`}</p>
    ${
      changes.length > 0 &&
      html`<details><summary class="small">${plural(changes.length + leftOut, 'changed value')}</summary>
        <ul>${changes.map(
          ({ pointer, before, after }) =>
            html`<li class="small"><code>${pointer || 'all'}</code> <s>${fact(before)}</s> <span class="mono">${fact(after)}</span></li>`,
        )}</ul>${leftOut > 0 && html`<p class="small quiet">${count(leftOut)} are too large for the log</p>`}</details>`
    }
  </li>`;

const fact = (value) => (value === null ? '' : shown(value).slice(0, FACT_MAX));

function TableLink({ table, stream }) {
  const home = ['tables', ...table.split('.')];
  return html`<a href=${link(home)}>${table}</a>${stream && html` / <a href=${link([...home, 'streams', stream])}>${stream}</a>`}`;
}

export const OperationsPage = () => html`<${Head} title="Operations" /><${Operations} path="operations?" />`;

/** The operations of a list, those that have not ended first; `path` is that of the list, to which parameters can be added. */
function Operations({ path, title, actions }) {
  const [canceled, setCanceled] = useState(null);
  const { data, problem, reload } = useLive(`${path}&page_size=${PAGE}`, { every: 2000 });
  return html`<${Card} title=${title} note="compactions, expiries and other long work" actions=${actions}>
    <${ProblemNote} problem=${problem} />
    ${!data && !problem && html`<${Loading} what="the operations" />`}
    ${data?.operations.length === 0 && html`<p class="quiet">There were none in the last days.</p>`}
    <ol class="operations events">${data?.operations.map((one) => html`<${Operation} key=${one.id} operation=${one} cancel=${() => setCanceled(one)} />`)}</ol>
    ${data?.next_page_token && html`<p class="small quiet">and older ones</p>`}
    ${
      canceled &&
      html`<${Confirm} title="Cancel the operation?" label="Cancel the operation" danger close=${() => setCanceled(null)}
        act=${async (key) => {
          await change('POST', `operations/${canceled.id}:cancel`, undefined, { key });
          reload();
        }}
        plan=${html`<p>It ends at the next point where its work can end. What it has done stays.</p>`} />`
    }
  <//>`;
}

function Operation({ operation, cancel }) {
  const { database, kind, state, request, progress, result, problem } = operation;
  const table = `${database}.${operation.table}`;
  const hasEnded = operation.finished_at !== null;
  return html`<li class="stack">
    <div class="head"><strong>${words(kind)}${request.dry_run && ' (report only)'}</strong><${TableLink} table=${table} /><${State} state=${state} />
      <span class="small quiet">${operation.requested_by} <${Ago} at=${operation.created_at} />${!hasEnded && operation.cancel_requested && ', is being canceled'}</span>
      ${!hasEnded && html`<${Guarded} scope="operate" table=${table}><button type="button" disabled=${operation.cancel_requested} onClick=${cancel}>Cancel</button><//>`}
    </div>
    ${!hasEnded && progress && html`<${Meter} part=${progress.total ? progress.done / progress.total : 0} label=${`Done, ${progress.unit}:`} />`}
    ${result && html`<details><summary class="small">Result</summary><${Result} result=${result} /></details>`}
    <${ProblemNote} problem=${problem && { ...problem, title: words(problem.code) }} />
  </li>`;
}

const Result = ({ result }) =>
  html`<${Facts} facts=${Object.entries(result).map(([name, value]) => [words(name), shown(value)])} />`;

const WORK = {
  compactions: {
    title: 'Compact',
    plan: 'Every bucket is merged to one sorted run. Streams and readers go on meanwhile; files that were read are removed with their snapshots.',
  },
  'snapshots/expire': {
    title: 'Expire snapshots',
    plan: 'Snapshots beyond those that the options of the table retain are removed, with the files that only they need. Those with a tag, or that a consumer needs, stay.',
    isTried: true,
  },
  'orphan-files/clean': {
    title: 'Delete orphan files',
    plan: 'Files that nothing in the table needs, and that are older than a day, are deleted.',
    isTried: true,
  },
  rescale: {
    title: 'Change the buckets',
    plan: 'All files are written again with another number of buckets. Streams and readers go on meanwhile.',
    field: 'buckets',
  },
};

/** The operations of a table, and buttons that begin others, each with its plan before. */
export function TableOperations({ database, table, spec }) {
  const [begun, setBegun] = useState(null);
  const name = `${database}.${table}`;
  const actions = html`<${Guarded} scope="operate" table=${name}>${Object.entries(WORK).map(
    ([address, { title }]) => html`<button type="button" onClick=${() => setBegun(address)}>${title}</button>`,
  )}<//>`;
  return html`<${Operations} path=${`operations?table=${name}`} title="Operations" actions=${actions} />
    ${begun && html`<${Begin} key=${begun} path=${apiPath(database, table)} address=${begun} name=${name} spec=${spec} close=${() => setBegun(null)} />`}`;
}

function Begin({ path, address, name, spec, close }) {
  const { title, plan, isTried, field } = WORK[address];
  const [text, setText] = useState('');
  const [trial, setTrial] = useState(null); // the operation that only reports
  const tried = useLive(trial && `operations/${trial.id}`, { every: 500 });
  const [problem, setProblem] = useState(null);
  const report = tried.data?.result;
  const body = { ...(field && { [field]: Number(text) }), ...(isTried && { dry_run: false }) };
  const form = html`
    ${field && html`<${Field} label=${words(field)} note=${`now ${count(spec[field])}`} inputmode="numeric" pattern="[0-9]*" value=${text} onInput=${setText} />`}
    ${isTried && html`<div class="actions"><button type="button" disabled=${trial} onClick=${() => change('POST', `${path}/${address}`, {}).then(setTrial, setProblem)}>Show what it would remove</button></div>`}
    <div role="status">${trial && !tried.data?.finished_at && html`<p class="quiet">Searching …</p>`}${report && html`<div class="note"><${Result} result=${report} /></div>`}</div>
    <${ProblemNote} problem=${problem ?? tried.problem ?? tried.data?.problem} />
  `;
  return html`<${Confirm} title=${`${title}: ${name}`} label=${title} danger=${isTried} form=${form} close=${close} plan=${html`<p>${plan}</p>`}
    blocked=${isTried ? !report : field && !(Number(text) > 0)} act=${(key) => change('POST', `${path}/${address}`, body, { key })} />`;
}
