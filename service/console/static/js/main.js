// The console: the frame of all pages with its colours and the sign-in, and the views by address.

import { description, refused, signIn, signOut, token, useLive } from './api.js';
import { html, render, signal, useEffect, useState } from './html.js';
import { link, route } from './route.js';
import { Empty, Head, ProblemNote } from './parts/basics.js';
import { Field } from './parts/forms.js';
import { AuditPage, OperationsPage } from './views/activity.js';
import { NewStream, NewTable } from './views/registration.js';
import { RunnersPage } from './views/runners.js';
import { StreamPage } from './views/stream.js';
import { Overview, TablePage } from './views/tables.js';

const THEME = 'braid.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

/** The chosen colours, `light` or `dark`; empty: those of the system. */
const theme = signal(localStorage.getItem(THEME) ?? '');
const themeNow = () => theme.value || (dark.matches ? 'dark' : 'light');

function showTheme() {
  document.documentElement.dataset.theme = themeNow();
}

function switchTheme() {
  const other = themeNow() === 'dark' ? 'light' : 'dark';
  const isSystems = other === (dark.matches ? 'dark' : 'light');
  theme.value = isSystems ? '' : other;
  if (isSystems) localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, other);
  showTheme();
}

dark.addEventListener('change', showTheme);
showTheme();

const PLACES = [
  ['', 'Tables'],
  ['new', 'New table'],
  ['operations', 'Operations'],
  ['runners', 'Runners'],
  ['audit', 'Audit log'],
];

function Shell({ children }) {
  const [first] = route.value.parts;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <div class="bar-inner">
        <a class="brand" href=${link([])}><${Mark} />Braid</a>
        <nav aria-label="Main">
          ${PLACES.map(([place, title]) => {
            const isHere = place === (!first || first === 'tables' ? '' : first);
            return html`<a href=${link([place])} aria-current=${isHere ? 'page' : undefined}>${title}</a>`;
          })}
        </nav>
        ${token.value && html`<button type="button" onClick=${signOut}>Sign out</button>`}
        <button type="button" onClick=${switchTheme}>${themeNow() === 'dark' ? 'Light' : 'Dark'}</button>
      </div>
    </header>
    <main id="main" class="page" tabindex="-1">
      ${refused.value ? html`<${SignIn} problem=${refused.value} />` : children}
    </main>
  `;
}

// The address after `#` is that of the view, so the link itself cannot lead to the content.
function skip(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

const Mark = () =>
  html`<svg viewBox="0 0 32 32" fill="none" stroke-width="3.4" stroke-linecap="round" aria-hidden="true">
    <path d="M5 7c10 0 10 18 22 18" stroke="#3b5bdb" /><path d="M5 16h22" stroke="#0ca678" />
    <path d="M5 25C15 25 15 7 27 7" stroke="#e8590c" />
  </svg>`;

function SignIn({ problem }) {
  const [given, setGiven] = useState('');
  useEffect(() => {
    document.title = 'Sign in · Braid';
  }, []);
  const submit = (event) => {
    event.preventDefault();
    signIn(given.trim());
  };
  return html`<form class="card sign-in" onSubmit=${submit}>
    <div class="body">
      <h1>Sign in</h1>
      ${
        token.value
          ? html`<${ProblemNote} problem=${problem} />`
          : html`<p>This service answers only requests with a token.</p>`
      }
      <${Field} label="Token" type="password" value=${given} onInput=${setGiven}
        note="It is kept until this tab is closed, and sent as a header." />
      <p class="small quiet">Operators make tokens with <code>braid token create</code>.</p>
      <div class="actions"><button class="main" disabled=${!given.trim()}>Sign in</button></div>
    </div>
  </form>`;
}

function View() {
  const { parts, query } = route.value;
  const { data } = useLive('../v1', { every: 60_000 });
  useEffect(() => {
    description.value = data;
  }, [data]);
  const [first, database, table, kind, name] = parts;
  const key = parts.join('/'); // another address is another view: nothing of the former one is kept
  if (first === undefined) return html`<${Overview} />`;
  if (first === 'operations') return html`<${OperationsPage} />`;
  if (first === 'runners') return html`<${RunnersPage} />`;
  if (first === 'audit') return html`<${AuditPage} />`;
  if (first === 'new' && !database) return html`<${NewTable} />`;
  if (first === 'tables' && table) {
    const names = { database, table };
    if (kind === 'streams' && name) return html`<${StreamPage} key=${key} ...${names} stream=${name} />`;
    if (kind === 'new-stream') return html`<${NewStream} key=${key} ...${names} />`;
    return html`<${TablePage} key=${`${database}.${table}`} ...${names} tab=${kind ?? 'flow'} query=${query} />`;
  }
  return html`<${Head} title="There is no such page" />
    <${Empty} title="Nothing is at this address">
      <a class="button" href=${link([])}>All tables</a>
    <//>`;
}

render(html`<${Shell}><${View} /><//>`, document.getElementById('app'));
