// The dead letters of a stream: their numbers by reason, the records, and replays.

import { change, get, useLive } from '../api.js';
import { bytes, count, plural, time } from '../format.js';
import { html, useState } from '../html.js';
import { Ago, Card, CopyBlock, Facts, Loading, ProblemNote, Table, words } from '../parts/basics.js';
import { Confirm } from '../parts/forms.js';

const PAGE = 50;

export function DeadLetters({ path, name, status }) {
  const numbers = useLive(`${path}/dead-letters?limit=0`, { every: 5000 });
  const [reason, setReason] = useState(null);
  const [replay, setReplay] = useState(null); // what is to be replayed
  const counts = numbers.data?.counts;
  const isEmpty = counts?.total === 0 && status.account.dead_lettered === 0;
  const all = { title: 'Replay all dead letters?', selection: {}, letters: counts?.open };
  const button = counts?.open > 0 && html`<button type="button" onClick=${() => setReplay(all)}>Replay all</button>`;
  return html`<${Card} title="Dead letters" note=${counts && (isEmpty ? 'none' : `${count(counts.open)} open, ${count(counts.replayed)} replayed`)} actions=${button}>
    <${ProblemNote} problem=${numbers.problem} />
    ${!numbers.data && !numbers.problem && html`<${Loading} what="the dead letters" />`}
    ${isEmpty && html`<p class="quiet">Every record could be read so far. A record that cannot is kept in <code>${numbers.data.dead_letter_topic}</code>, and listed here with its reason.</p>`}
    ${
      numbers.data &&
      !isEmpty &&
      html`
        <${Reasons} counts=${counts} reason=${reason} choose=${setReason}
          replay=${(one, letters) => setReplay({ title: `Replay the dead letters with the reason ${words(one)}?`, selection: { reasons: [one] }, letters })} />
        <${LastReplay} path=${path} replay=${numbers.data.replay} reload=${numbers.reload} />
        <${Letters} key=${reason ?? ''} path=${path} reason=${reason}
          replay=${(letter) => setReplay({ title: `Replay the record at partition ${letter.partition}, offset ${letter.offset}?`, selection: oneLetter(letter), letters: 1 })} />
      `
    }
    ${
      replay &&
      html`<${Confirm} title=${replay.title} label="Replay" close=${() => setReplay(null)}
        act=${async () => {
          await change('POST', `${path}/dead-letters/replay`, replay.selection);
          numbers.reload();
        }}
        plan=${html`<p>The runner of ${name} reads ${replay.letters === 1 ? 'the record' : `${count(replay.letters)} records`} again, by the stream as it is declared now, and writes each once, at its old place in the order: newer values of the row win. A record that is refused again stays a dead letter.</p>`} />`
    }
  <//>`;
}

const oneLetter = ({ partition, offset }) => ({ offsets: { [partition]: { start: offset, end: offset + 1 } } });

const Reasons = ({ counts, reason, choose, replay }) =>
  html`<${Table} label="Reasons" heads=${['Reason', ['Dead letters', 'number'], ['Replayed', 'number'], ['Actions', 'number']]}>
    ${Object.entries(counts.by_reason).map(([one, letters]) => {
      const replayed = counts.replayed_by_reason[one] ?? 0;
      return html`<tr key=${one} class=${one === reason ? 'selected' : ''}><th scope="row">${words(one)}</th><td class="number">${count(letters)}</td><td class="number">${count(replayed)}</td>
        <td class="number"><button type="button" class="plain" aria-pressed=${one === reason} onClick=${() => choose(one === reason ? null : one)}>Only these</button>
          <button type="button" class="plain" disabled=${letters <= replayed} onClick=${() => replay(one, letters - replayed)}>Replay</button></td></tr>`;
    })}
  <//>`;

function LastReplay({ path, replay, reload }) {
  const [problem, setProblem] = useState(null);
  if (!replay) return null;
  const { result } = replay;
  const withdraw = () => change('DELETE', `${path}/dead-letters/replay`).then(reload, setProblem);
  if (!result) {
    return html`<div class="note"><div class="head"><p role="status">A replay was requested <${Ago} at=${new Date(replay.requested_ms).toISOString()} />; the runner carries it out.</p>
      <div class="actions"><button type="button" onClick=${withdraw}>Withdraw it</button></div></div><${ProblemNote} problem=${problem} /></div>`;
  }
  const numbers = (entries) =>
    Object.entries(entries)
      .map(([one, letters]) => `${count(letters)} ${words(one)}`)
      .join(', ');
  return html`<div class="note ${result.error ? 'warn' : ''}" role="status">
    <p><strong>Last replay</strong> <span class="quiet"><${Ago} at=${new Date(result.finished_ms).toISOString()} /></span></p>
    <p class="small">${plural(result.accepted + result.folded, 'record')} written, ${count(result.ignored)} ignored${
      Object.keys(result.failed_again).length > 0 && `; refused again: ${numbers(result.failed_again)}`
    }${Object.keys(result.left).length > 0 && `; left: ${numbers(result.left)}`}</p>
    ${result.examples.map((example) => html`<p class="small quiet">${example}</p>`)}
    ${result.error && html`<p class="bad">${result.error}</p>`}
  </div>`;
}

/** The records themselves, which a runner of the stream reads on request. */
function Letters({ path, reason, replay }) {
  const [pages, setPages] = useState([]);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const last = pages.at(-1);
  const read = async () => {
    setBusy(true);
    setProblem(null);
    const query = new URLSearchParams({ limit: PAGE });
    if (reason) query.set('reason', reason);
    if (last?.next_page_token) query.set('page_token', last.next_page_token);
    try {
      const page = await get(`${path}/dead-letters?${query}`);
      setPages([...pages, page]);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const letters = pages.flatMap((page) => page.letters);
  const button =
    (!last || last.next_page_token) &&
    html`<button type="button" disabled=${busy} onClick=${read}>${busy ? 'Reading …' : last ? 'Read more records' : reason ? `Read the records: ${words(reason)}` : 'Read the records'}</button>`;
  return html`
    ${letters.map((letter) => html`<${Letter} key=${`${letter.partition}/${letter.offset}`} letter=${letter} replay=${replay} />`)}
    ${last && !letters.length && html`<p class="quiet">No records were found.</p>`}
    <${ProblemNote} problem=${problem} />
    <div class="actions">${button}</div>
  `;
}

const Letter = ({ letter, replay }) =>
  html`<details class="letter">
    <summary><span class="badge bad">${words(letter.reason)}</span> ${letter.message}
      <span class="small quiet">partition ${letter.partition}, offset ${letter.offset}${letter.standing !== 'open' && ` · ${words(letter.standing)}`}</span></summary>
    <div class="stack">
      <${CopyBlock} label=${`Value, ${bytes(letter.value_bytes)}`} text=${letter.value ?? 'The record has no value.'} />
      <${Facts} facts=${[
        ['Kafka key', letter.key === null ? 'none' : html`<code>${letter.key}</code>`],
        [
          'Time of the record',
          letter.timestamp_ms === null ? 'not known' : time(new Date(letter.timestamp_ms).toISOString()),
        ],
        ['Refused', time(new Date(letter.sent_ms).toISOString())],
      ]} />
      <div class="actions"><button type="button" disabled=${letter.standing !== 'open'} onClick=${() => replay(letter)}>Replay this record</button></div>
    </div>
  </details>`;
