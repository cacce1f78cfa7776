// Parts of forms: fields, choices, questions before something is done, and what the service says of a declaration.

import { change, useSettled } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Errors, ProblemNote } from './basics.js';

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
 * A dialog that is open while it is in the document. `act` returns a promise; the dialog stays open with the problem if it
 * fails. `typed` is the text that has to be typed; `form` is shown between the plan and the buttons.
 */
export function Confirm({ title, plan, label, typed, danger, act, close, form, ready = true }) {
  const dialog = useRef(null);
  const [text, setText] = useState('');
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    if (!allowed) return;
    setBusy(true);
    setProblem(null);
    try {
      await act();
      close();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const allowed = ready && !busy && (!typed || text === typed);
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

/** Returns the answer of `validate` for a body, once it has not changed for a while; `isCurrent`: it is of this body. */
export function useVerdict(path, body) {
  const text = useSettled(JSON.stringify(body));
  const [state, setState] = useState({ text: null, answer: null, problem: null });
  useEffect(() => {
    if (!path) return undefined;
    const ended = new AbortController();
    change('POST', `${path}/validate`, JSON.parse(text), { ended: ended.signal }).then(
      (answer) => setState({ text, path, answer, problem: null }),
      (problem) => {
        if (!ended.signal.aborted) setState({ text, path, answer: null, problem });
      },
    );
    return () => ended.abort();
  }, [path, text]);
  const isCurrent = state.path === path && state.text === JSON.stringify(body);
  return { answer: path ? state.answer : null, problem: path ? state.problem : null, isCurrent };
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
