// The page of a row: search by key, and why the row has its values, now or at an earlier snapshot.

import { change, follow, useLive } from '../api.js';
import { value as shown } from '../format.js';
import { html, useEffect, useMemo, useState } from '../html.js';
import { apiPath, go, link } from '../route.js';
import { Ago, Card, CopyBlock, Empty, Loading, ProblemNote, State, Table } from '../parts/basics.js';
import { Field } from '../parts/forms.js';
import { Hypotheses, RowCells, RowLanes, SnapshotSlider } from './row_history.js';

const KEY = 'key.'; // the prefix of the key's columns among the parameters of the page's address
const COLUMNS_SHOWN = 7;
const PAGE = 25;

export function RowPage({ database, table, declared, query }) {
  const names = declared.spec.primary_key;
  const key = useMemo(() => keyIn(query, names), [query.toString()]);
  const snapshot = query.get('snapshot');
  const addressOf = (values, at) => link(['tables', database, table, 'rows'], { ...prefixed(values), snapshot: at });
  return html`<div class="stack">
    <${KeyForm} names=${names} key_=${key} declared=${declared} search=${(values) => go(addressOf(values, snapshot))} />
    ${
      key
        ? html`<${Row} key=${JSON.stringify(key)} database=${database} table=${table} declared=${declared} rowKey=${key} snapshot=${snapshot}
            showSnapshot=${(id) => go(addressOf(key, id), { replace: true })} />`
        : html`<${FirstRows} database=${database} table=${table} declared=${declared} addressOf=${addressOf} />`
    }
  </div>`;
}

function KeyForm({ names, key_: key, declared, search }) {
  const [values, setValues] = useState(key ?? {});
  useEffect(() => {
    if (key) setValues(key);
  }, [key]);
  const types = new Map(declared.columns.map((column) => [column.name, column.type]));
  const submit = (event) => {
    event.preventDefault();
    if (names.every((name) => values[name])) search(values);
  };
  return html`<form class="card" role="search" onSubmit=${submit} aria-label="Find a row"><div class="body key-form">
    ${names.map(
      (name) => html`<${Field} key=${name} label=${name} note=${types.get(name)} value=${values[name] ?? ''} required
        onInput=${(text) => setValues({ ...values, [name]: text })} />`,
    )}
    <button class="main">Find the row</button>
  </div></form>`;
}

function Row({ database, table, declared, rowKey, snapshot, showSnapshot }) {
  const [raw, setRaw] = useState(false);
  const [selected, setSelected] = useState(null);
  const [changes, setChanges] = useState(0);
  const key = new URLSearchParams(rowKey).toString();
  const state = snapshot ? `&snapshot_id=${snapshot}` : '';
  const rows = apiPath(database, table, 'rows');
  const explained = useLive(`${rows}/explain?${key}${state}${raw ? '&raw=true' : ''}`, { every: 0, exact: true });
  const status = useLive(`${rows}/status?${key}${state}`, { every: 0 });
  useRowEvents(snapshot ? null : `${rows}/events?${key}`, () => setChanges((before) => before + 1));
  useEffect(() => {
    if (changes) {
      explained.reload();
      status.reload();
    }
  }, [changes]);
  const found = explained.data;
  const slider = html`<${SnapshotSlider} database=${database} table=${table} snapshot=${snapshot} show=${showSnapshot} changes=${changes} />`;
  if (explained.problem) return html`${snapshot && slider}<${ProblemNote} problem=${explained.problem} />`;
  if (!found) return html`<${Loading} what="the row" />`;
  if (!found.exists && !found.versions.length) {
    return html`${slider}<div class="card"><${Empty} title="There is no row with this key">
      <p>No stream has delivered a record of it${snapshot ? ' up to this snapshot' : ' yet'}. This page shows the row as soon as one does.</p>
    <//></div>`;
  }
  return html`<div class="stack">
    ${slider}
    <${Groups} status=${status.data} exists=${found.exists} />
    <${RowLanes} explanation=${found} selected=${selected} select=${setSelected} />
    <${RowCells} explanation=${found} declared=${declared} selected=${selected} />
    <${Records} records=${found.records} show=${() => setRaw(true)} />
    ${!snapshot && html`<${Hypotheses} database=${database} table=${table} rowKey=${rowKey} explanation=${found} />`}
    <${Certificate} path=${`${rows}/certificate?${key}${state}`} name=${`${database}.${table}`} />
  </div>`;
}

/** Calls a function after each change of a row, as the service tells it; connects again by itself. */
function useRowEvents(path, onChange) {
  useEffect(() => {
    if (!path) return undefined;
    const ended = new AbortController();
    let timer = 0;
    const listen = async () => {
      await follow(path, ended.signal, (event) => event === 'row' && onChange()).catch(() => {});
      if (!ended.signal.aborted) timer = setTimeout(listen, 3000);
    };
    listen();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [path]);
}

const Groups = ({ status, exists }) =>
  html`<${Card} title="Status" note=${
    !exists ? 'the row was deleted' : status && (status.complete ? 'the row is complete' : 'the row is not complete')
  }>
    ${
      status
        ? html`<ul class="groups">
            ${Object.entries(status.groups).map(
              ([name, group]) => html`<li key=${name}>
                <strong>${name}</strong> <${State} state=${group.state} />
                <p class="small quiet">${group.last_touched ? html`newest record <${Ago} at=${group.last_touched} />` : (group.stream ?? 'no stream')}</p>
              </li>`,
            )}
          </ul>`
        : html`<${Loading} what="the status" />`
    }
    ${status && !Object.keys(status.groups).length && html`<p class="quiet">The table has no sequence groups.</p>`}
  <//>`;

function Records({ records, show }) {
  if (!records) {
    return html`<${Card} title="Kafka records" actions=${html`<button type="button" onClick=${show}>Show the records</button>`}>
      <p class="quiet">The records that gave the values, as their topics have them, if operators allow it.</p>
    <//>`;
  }
  return html`<${Card} title="Kafka records" note="those that give values first">
    ${!records.length && html`<p class="quiet">No record of the row is known.</p>`}
    ${records.map(
      (record) => html`<details key=${`${record.group}/${record.arrival.partition}/${record.arrival.offset}`}>
        <summary>${record.stream ?? 'unknown stream'}: partition ${record.arrival.partition}, offset ${record.arrival.offset}
          ${record.state !== 'present' && html` <span class="badge warn">${record.state}</span>`}</summary>
        ${record.message && html`<p class="quiet">${record.message}</p>`}
        ${record.value && html`<${CopyBlock} label="Value" text=${record.value.text ?? record.value.base64 ?? `${record.value.size_bytes} bytes`} />`}
        ${record.result && html`<p class="small">Its stream makes of it now: <${State} state=${record.result.outcome} /> ${record.result.message}</p>`}
      </details>`,
    )}
  <//>`;
}

function Certificate({ path, name }) {
  const [problem, setProblem] = useState(null);
  const save = async () => {
    try {
      const found = await change('GET', path, undefined, { exact: true });
      const address = URL.createObjectURL(new Blob([shown(found)], { type: 'application/json' }));
      const anchor = Object.assign(document.createElement('a'), {
        href: address,
        download: `${name}.certificate.json`,
      });
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Card} title="Certificate" actions=${html`<button type="button" onClick=${save}>Save the certificate</button>`}>
    <p class="quiet">The row with its versions and the rules of merging, for <code>braid explain verify</code>.</p>
    <${ProblemNote} problem=${problem} />
  <//>`;
}

/** Some rows of the table, for whom has no key at hand. */
function FirstRows({ database, table, declared, addressOf }) {
  const [page, setPage] = useState(null);
  const [token, setToken] = useState(null);
  const [problem, setProblem] = useState(null);
  const names = declared.spec.primary_key;
  const others = declared.spec.columns.map((column) => column.name).filter((name) => !names.includes(name));
  const columns = [...names, ...others.slice(0, Math.max(0, COLUMNS_SHOWN - names.length))];
  useEffect(() => {
    const ended = new AbortController();
    const body = { limit: PAGE, integers: 'text', ...(token ? { page_token: token } : { columns }) };
    change('POST', apiPath(database, table, 'rows', 'scan'), body, { ended: ended.signal }).then(setPage, (error) => {
      if (!ended.signal.aborted) setProblem(error);
    });
    return () => ended.abort();
  }, [token]);
  if (problem) return html`<${ProblemNote} problem=${problem} />`;
  if (!page) return html`<${Loading} what="some rows" />`;
  if (!page.rows.length && !token) {
    return html`<div class="card"><${Empty} title="The table has no rows yet"><p>Rows appear as soon as a stream commits its first records.</p><//></div>`;
  }
  const keyOf = (row) => Object.fromEntries(names.map((name) => [name, shown(row[name])]));
  const next =
    page.next_page_token &&
    html`<button type="button" onClick=${() => setToken(page.next_page_token)}>Next rows</button>`;
  return html`<${Card} title="Rows" note="in the order of the key" actions=${next} flush>
    <${Table} label="Rows" heads=${columns}>
      ${page.rows.map(
        (row) =>
          html`<tr>${columns.map((name, index) =>
            index === 0
              ? html`<th scope="row"><a href=${addressOf(keyOf(row))}>${shown(row[name])}</a></th>`
              : html`<td class=${row[name] === null ? 'quiet' : ''}>${shown(row[name])}</td>`,
          )}</tr>`,
      )}
    <//>
  <//>`;
}

function keyIn(query, names) {
  if (!names.every((name) => query.has(KEY + name))) return null;
  return Object.fromEntries(names.map((name) => [name, query.get(KEY + name)]));
}

const prefixed = (values) => Object.fromEntries(Object.entries(values).map(([name, one]) => [KEY + name, one]));
