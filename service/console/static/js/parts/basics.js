// Parts of pages: badges, problems, notes for empty places, figures, meters, long lists, texts to copy.

import { may } from '../api.js';
import { curl, withoutNulls, yaml } from '../declarations.js';
import { ago, duration, percent, time } from '../format.js';
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from '../html.js';

const TONES = {
  RUNNING: 'good',
  EXTERNAL: 'good',
  SUCCEEDED: 'good',
  STARTING: 'warn',
  RETRYING: 'warn',
  UNASSIGNED: 'warn',
  PENDING: 'warn',
  FAILED: 'bad',
  present: 'good',
  stale: 'warn',
  row: 'good',
  delete: 'warn',
  schema_change: 'warn',
  dead_letter: 'bad',
};

/** The tone of a state of a stream, of a sequence group in a row, or of a record: good, warn, bad or idle. */
export const toneOf = (state) => TONES[state] ?? 'idle';

export const State = ({ state }) => html`<span class="badge ${toneOf(state)}">${words(state)}</span>`;

/** A name of the API as words: `dead_letter` is "dead letter", `RUNNING` is "running". */
export const words = (name) => String(name).toLowerCase().replaceAll('_', ' ');

const seconds = signal(0);
setInterval(() => (seconds.value += 1), 1000);

/** A time, with how long ago it was, which goes on by itself. */
export function Ago({ at }) {
  void seconds.value; // makes it be shown again each second
  return at ? html`<time dateTime=${at} title=${time(at)} class="nowrap">${ago(at)}</time>` : '–';
}

/** How far a stream is behind, in seconds; without that in the time since its last commit. */
export function Lag({ stream }) {
  if (stream.lag_seconds !== null && stream.lag_seconds !== undefined) {
    return stream.lag_records === 0 ? 'up to date' : `${duration(stream.lag_seconds)} behind`;
  }
  const commit = stream.last_commit?.time ?? stream.last_commit;
  return commit ? html`last commit <${Ago} at=${commit} />` : 'no commit yet';
}

/** A problem of the API: what is wrong, where, and what helps. */
export function ProblemNote({ problem, title }) {
  if (!problem) return null;
  return html`<section class="problem" role="alert">
    <h2>${title ?? problem.title}</h2>
    <p>${problem.detail ?? problem.message}</p>
    ${problem.hint && html`<p class="small">${problem.hint}</p>`}
    <${Errors} errors=${problem.errors} />
    ${problem.requestId && html`<p class="small">Request id <code>${problem.requestId}</code></p>`}
  </section>`;
}

/** The problems of single fields of a request. */
export const Errors = ({ errors }) =>
  errors?.length > 0 &&
  html`<ul>
    ${errors.map(
      (error) => html`<li>
        <code>${error.field}</code>${error.value !== null && html` <span class="quiet">= ${error.value}</span>`}
        <p>${error.message}</p>
        ${error.hint && html`<p class="small">${error.hint}</p>`}
      </li>`,
    )}
  </ul>`;

/** What stands where nothing is yet: why, and what to do next. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** Buttons that need a scope for a table; without the scope they are disabled, with the reason. */
export const Guarded = ({ scope, table, children }) =>
  html`<fieldset class="actions" disabled=${!may(scope, table)}>
    ${children}${!may(scope, table) && html`<span class="small quiet">needs the scope <code>${scope}</code></span>`}
  </fieldset>`;

export const Loading = ({ what }) => html`<p class="quiet" role="status">Loading ${what} …</p>`;

/** Figures in a row; each is a name, a value and a note. */
export const Figures = ({ figures }) =>
  html`<dl class="figures">
    ${figures.map(
      ([name, value, note, tone]) =>
        html`<div><dt>${name}</dt><dd class=${tone}>${value}${note && html` <small>${note}</small>`}</dd></div>`,
    )}
  </dl>`;

/** Facts as pairs of name and value; a value that is undefined leaves its pair out. */
export const Facts = ({ facts }) =>
  html`<dl class="facts">
    ${facts.filter(([, value]) => value !== undefined).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
  </dl>`;

/** A table that scrolls by itself where it is wide; a head is a text, or a text and a class. */
export const Table = ({ label, heads, className = '', children }) =>
  html`<div class="wide ${className}" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${heads.map((head) => {
      const [text, kind] = [head].flat();
      return html`<th scope="col" class=${kind}>${text}</th>`;
    })}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`;

/** A part of a whole, as a bar and in percent; unknown while `part` is null. */
export function Meter({ part, label }) {
  if (part === null || part === undefined) return html`<span class="quiet">–</span>`;
  return html`<span class="meter ${part < 1 ? 'partial' : ''}">
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=${part * 100} height="4" /></svg>
    <span class="nowrap"><span class="hidden">${label} </span>${percent(part)}</span>
  </span>`;
}

export const Card = ({ title, note, actions, children, flush }) =>
  html`<section class="card">
    ${
      title &&
      html`<header>
        <h2>${title}</h2>${note && html`<span class="small quiet">${note}</span>`}
        ${actions && html`<div class="actions">${actions}</div>`}
      </header>`
    }
    ${flush ? children : html`<div class="body">${children}</div>`}
  </section>`;

let isFirstPage = true;

/** The head of a page; after the first one, its heading gets the focus, so that screen readers begin there. */
export function Head({ crumbs, title, badge, actions }) {
  const heading = useRef(null);
  useEffect(() => scrollTo(0, 0), []);
  useEffect(() => {
    document.title = `${title} · Braid`;
    if (!isFirstPage && document.activeElement === document.body) heading.current.focus({ preventScroll: true });
    isFirstPage = false;
  }, [title]);
  return html`
    ${
      crumbs &&
      html`<nav class="crumbs" aria-label="Breadcrumb">
        ${crumbs.map(([name, address], index) => html`${index > 0 && '/'}<a href=${address}>${name}</a>`)}
      </nav>`
    }
    <div class="head">
      <h1 tabindex="-1" ref=${heading}>${title}</h1>
      ${badge}
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
  `;
}

/** Who owns a table or a stream, and its labels. */
export const Owner = ({ spec }) => {
  const labels = Object.entries(spec?.labels ?? {});
  return (
    (spec?.owner || labels.length > 0) &&
    html`<p class="actions small">
      ${spec.owner && html`<span class="quiet">owned by ${spec.owner}</span>`}
      ${labels.map(([name, value]) => html`<span class="badge bare">${name}: ${value}</span>`)}
    </p>`
  );
};

/** Links to the parts of a page; the present one is marked. */
export const Tabs = ({ tabs, current, label }) =>
  html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      ([name, title, address]) =>
        html`<a href=${address} aria-current=${name === current ? 'page' : undefined}>${title}</a>`,
    )}
  </nav>`;

const FORMS = ['curl', 'YAML', 'JSON'];

/**
 * `kind` and `name` are those of the document in YAML, `path` the address of the declaration in the API; `action` is a button
 * beside those of the forms.
 */
export function Declaration({ title, kind, name, spec, path, action, first = 'YAML' }) {
  const [form, setForm] = useState(first);
  const given = withoutNulls(spec);
  const text = {
    curl: () => curl(path, given),
    YAML: () => yaml({ kind, name, spec: given }).trimStart() + '\n',
    JSON: () => JSON.stringify(given, null, 2),
  }[form]();
  const buttons = FORMS.map(
    (one) =>
      html`<button type="button" class="plain" aria-pressed=${one === form} onClick=${() => setForm(one)}>${one}</button>`,
  );
  return html`<${Card} title=${title} actions=${[buttons, action]}><${CopyBlock} label=${form} text=${text} /><//>`;
}

/** A text with a button that copies it. */
export function CopyBlock({ label, text }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    // Without https or a loopback address browsers have no clipboard.
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(done ? 'Copied' : 'Select the text and copy it');
    setTimeout(() => setSaid(''), 3000);
  };
  return html`<div class="block">
    <header>${label}<span role="status">${said && `· ${said}`}</span><button type="button" class="plain" onClick=${copy}>Copy</button></header>
    <pre tabindex="0" role="region" aria-label=${label}>${text}</pre>
  </div>`;
}

const SPARE = 6; // rows before and after the visible ones: the next one exists when the focus goes to it

/**
 * Rows of one height, in the page's own scrolling. `height` is that of a row in pixels, `row` returns the content of an
 * item, and `columns` the heads of columns, if it is a table.
 */
export function VirtualList({ items, height, row, label, columns, className }) {
  const outer = useRef(null);
  const [range, setRange] = useState([0, 30]);
  useLayoutEffect(() => {
    const measure = () => {
      const above = -outer.current.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(above / height) - SPARE);
      const last = Math.ceil((above + innerHeight) / height) + SPARE;
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [height, items.length]);
  const shown = items.slice(range[0], Math.max(range[1], range[0]));
  return html`<div role="table" aria-label=${label} aria-rowcount=${items.length + 1} class="list ${className}">
    <div role="rowgroup" class="list-head">
      <div role="row" aria-rowindex="1" class="list-row">
        ${columns.map(([name, kind]) => html`<span role="columnheader" class=${kind}>${name}</span>`)}
      </div>
    </div>
    <div role="rowgroup" class="virtual" ref=${outer} style=${{ height: `${items.length * height}px` }}>
      <div role="presentation" class="window" style=${{ transform: `translateY(${range[0] * height}px)` }}>
        ${shown.map(
          (item, index) =>
            html`<div role="row" key=${item.key} aria-rowindex=${range[0] + index + 2} class="list-row row-link"
              style=${{ height: `${height}px` }}>${row(item)}</div>`,
        )}
      </div>
    </div>
  </div>`;
}

/** Whether the page is as narrow as a phone. */
export function useNarrow() {
  const [narrow] = useState(() => matchMedia('(max-width: 40rem)'));
  const [matches, setMatches] = useState(narrow.matches);
  useLayoutEffect(() => {
    const read = () => setMatches(narrow.matches);
    narrow.addEventListener('change', read);
    return () => narrow.removeEventListener('change', read);
  }, [narrow]);
  return matches;
}
