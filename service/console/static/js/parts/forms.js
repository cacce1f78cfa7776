// Parts of forms: fields, choices, questions before something is done, and what the service says of a declaration.

import { change, etagOf, newKey, useSettled } from '../api.js';
import { patchOf, withoutNulls } from '../declarations.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Card, CopyBlock, Errors, Guarded, ProblemNote } from './basics.js';

let fields = 0;

/** An input with its label and a note; `children` replace the plain input. */
export function Field({ label, note, value, onInput, children, ...input }) {
  const id = useRef(null);
  id.current ??= `field-${(fields += 1)}`;
  const noteId = note && `${id.current}-note`;
  return html`<div class="field">
    <label for=${id.current}>${label}</label>
    ${
      children
        ? children({ id: id.current, 'aria-describedby': noteId })
        : html`<input ...${input} id=${id.current} aria-describedby=${noteId} value=${value}
            autocomplete="off" spellcheck=${false} onInput=${(event) => onInput(event.currentTarget.value)} />`
    }
    ${note && html`<p class="small" id=${noteId}>${note}</p>`}
  </div>`;
}

/** A choice among values; a pair is a value and its text. */
export const Choice = ({ choices, value, onChange, ...rest }) =>
  html`<select ...${rest} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
    ${choices
      .map((choice) => (Array.isArray(choice) ? choice : [choice, choice]))
      .map(([one, text]) => html`<option value=${one} selected=${one === value}>${text}</option>`)}
  </select>`;

/**
 * A dialog that is open while it is in the document. `act` is called with the idempotency key of the dialog, so that a second
 * try has no second effect, and returns a promise; the dialog stays open with the problem if it fails. `typed` is the text that has to be typed; `form` is shown between the plan and the buttons.
 */
export function Confirm({ title, plan, label, typed, danger, act, close, form, blocked }) {
  const dialog = useRef(null);
  const [text, setText] = useState('');
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    const text = dialog.current.querySelector('textarea'); // begins at its end otherwise
    if (text) {
      text.setSelectionRange(0, 0);
      text.scrollTop = 0;
    }
    return () => before?.focus?.();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    if (!allowed) return;
    setBusy(true);
    setProblem(null);
    try {
      await act(key);
      close();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const allowed = !blocked && !busy && (!typed || text === typed);
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="confirm-title">
    <form onSubmit=${submit}>
      <h2 id="confirm-title">${title}</h2>
      <div class="stack">${plan}</div>
      ${form}
      ${typed && html`<${Field} label=${`Type ${typed} to confirm`} value=${text} onInput=${setText} />`}
      <${ProblemNote} problem=${problem} />
      <div class="actions">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button class=${danger ? 'danger' : 'main'} disabled=${!allowed}>${label}</button>
      </div>
    </form>
  </dialog>`;
}

/**
 * A form that sends one request: `ask` returns a promise of the answer, and `show` what is shown of it. With a scope the
 * request is for clients that have it for the table.
 */
export function Question({ title, label, note, scope, table, ask, show, children }) {
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    setProblem(null);
    setAnswer(null);
    try {
      setAnswer(await ask());
    } catch (error) {
      setProblem(error);
    }
  };
  const button = html`<button class="main">${label}</button>`;
  return html`<${Card} title=${title}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      <div class="actions">${scope ? html`<${Guarded} scope=${scope} table=${table}>${button}<//>` : button}<span class="small quiet">${note}</span></div>
    </form>
    <${ProblemNote} problem=${problem} />
    ${answer && show(answer)}
  <//>`;
}

/**
 * Returns the answer of an address such as `…/validate` to a body, once both have not changed for a while; `isCurrent`: it is
 * of these. Without an address nothing is asked.
 */
export function useVerdict(address, body, headers) {
  const wanted = JSON.stringify([address, body]);
  const asked = useSettled(wanted);
  const [state, setState] = useState({});
  useEffect(() => {
    const [to, text] = JSON.parse(asked);
    if (!to) return undefined;
    const ended = new AbortController();
    change('POST', to, text, { headers, ended: ended.signal }).then(
      (answer) => setState({ asked, answer }),
      (problem) => {
        if (!ended.signal.aborted) setState({ asked, problem });
      },
    );
    return () => ended.abort();
  }, [asked]);
  const { answer, problem } = address ? state : {};
  return { answer, problem, isCurrent: state.asked === wanted };
}

/** The answer in words; `waiting` stands there while something is missing for the question. */
export function Verdict({ verdict, waiting, accepted, children }) {
  const { answer, problem } = verdict;
  return html`<div role="status" class="stack" aria-live="polite">
    ${!answer && !problem && html`<p class="note">${waiting}</p>`}
    <${ProblemNote} problem=${problem} />
    ${answer && !answer.valid && html`<section class="problem"><h2>The service would refuse this</h2><${Errors} errors=${answer.errors} /></section>`}
    ${
      answer?.valid &&
      html`<div class="note good"><strong>${accepted}</strong><ul>${answer.plan?.map((effect) => html`<li>${effect}</li>`)}</ul></div>`
    }
    ${children}
  </div>`;
}

/** Returns further fields of a declaration from a text, or why it is none. */
export function furtherFields(text) {
  if (!text.trim()) return { fields: {}, wrong: null };
  try {
    const fields = JSON.parse(text);
    const isObject = fields !== null && typeof fields === 'object' && !Array.isArray(fields);
    return isObject
      ? { fields, wrong: null }
      : { fields: {}, wrong: 'Expected a JSON object, such as {"buckets": 8}.' };
  } catch (error) {
    return { fields: {}, wrong: `This is not JSON: ${error.message}` };
  }
}

const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };

/** A dialog that changes the declaration at a path of the API, by a merge patch of what is changed in its text. */
export function ChangeDeclaration({ path, spec, ...dialog }) {
  const [before] = useState(() => withoutNulls(spec));
  return html`<${ChangeDialog} ...${dialog} path=${path} start=${before} bodyOf=${(fields) => patchOf(before, fields)}
    method="PATCH" headers=${MERGE_PATCH} address=${path} validate=${`${path}/validate-patch`}
    label="Declaration as JSON" note="A field that is removed gets its default." />`;
}

/**
 * A dialog with a text of JSON and what the service would do with it. `path` is that of the declaration that is changed, `start`
 * what the text begins with, and `bodyOf` makes the body of the request of it; an empty body changes nothing.
 */
export function ChangeDialog({
  title,
  path,
  start,
  bodyOf,
  method,
  headers,
  address,
  validate,
  label,
  note,
  close,
  done,
}) {
  const [etag] = useState(() => etagOf(path)); // of what the form begins with
  const [text, setText] = useState(() => JSON.stringify(start, null, 2));
  const { fields, wrong } = furtherFields(text);
  const body = wrong ? {} : bodyOf(fields);
  const hasChanges = Object.keys(body).length > 0;
  const verdict = useVerdict(hasChanges && validate, body, headers);
  const act = async (key) => {
    await change(method, address, body, { key, headers: { ...headers, 'if-match': etag } });
    done();
  };
  const form = html`
    <${JsonField} label=${label} rows="12" note=${wrong ?? note} wrong=${wrong} value=${text} onInput=${setText} />
    ${hasChanges && html`<${CopyBlock} label=${`Body of ${method}`} text=${JSON.stringify(body, null, 2)} />`}
    <${Verdict} verdict=${verdict} accepted="The service would make this change." waiting="Change the text, and the service says what it would do." />
  `;
  return html`<${Confirm} title=${title} label="Make the change" act=${act} close=${close} form=${form}
    blocked=${!hasChanges || !verdict.isCurrent || !verdict.answer?.valid} />`;
}

/** An input of JSON; `wrong` says why its text is none. */
export const JsonField = ({ wrong, rows = 4, placeholder, value, onInput, ...field }) =>
  html`<${Field} ...${field}>
    ${(input) =>
      html`<textarea ...${input} rows=${rows} spellcheck=${false} aria-invalid=${Boolean(wrong)} placeholder=${placeholder}
        value=${value} onInput=${(event) => onInput(event.currentTarget.value)}></textarea>`}
  <//>`;
