// What can be done to a stream: the verbs, a new position, replays of dead letters; each shows its effect before.

import { change, etagOf, get, may, useLive } from '../api.js';
import { bytes, count, plural, time } from '../format.js';
import { html, useState } from '../html.js';
import { go } from '../route.js';
import { Ago, Card, CopyBlock, Errors, Facts, Guarded, Loading, ProblemNote, Table, words } from '../parts/basics.js';
import { Confirm, useVerdict } from '../parts/forms.js';

const EFFECTS = {
  start: [
    'Start',
    'The stream runs as soon as a runner takes it, and continues at its position. If it has failed, it tries again at once.',
  ],
  resume: ['Resume', 'The stream reads on at its position. If it has failed, it tries again at once.'],
  pause: [
    'Pause',
    'The runner keeps the stream and reads nothing until it is resumed. Records wait in Kafka, so the lag grows.',
  ],
  restart: [
    'Restart',
    'The query of the stream is replaced by a new one, which continues at the same position. No record is lost or read twice.',
  ],
  stop: [
    'Stop',
    'The runner ends the query and releases the stream. Its position stays in the table; it can then be changed, or the stream be deleted.',
  ],
};

/** The verbs that have an effect, by the desired state of the stream. */
const VERBS = { RUNNING: ['pause', 'restart', 'stop'], PAUSED: ['resume', 'stop'], STOPPED: ['start'] };

export function StreamActions({ path, table, name, status, home, reload }) {
  const [verb, setVerb] = useState(null);
  const [said, setSaid] = useState('');
  const verbs = VERBS[status.desired_state] ?? [];
  const more =
    ['FAILED', 'RETRYING', 'COMPLETED'].includes(status.state) && status.desired_state === 'RUNNING' ? ['start'] : [];
  const act = async (key) => {
    const answer = await change('POST', `${path}/${verb}`, undefined, { key });
    setSaid(answer.message);
    reload();
  };
  const remove = async () => {
    await change('DELETE', `${path}?confirm=${encodeURIComponent(name)}`);
    go(home);
  };
  return html`
    <span role="status" class="small quiet">${said}</span>
    <${Guarded} scope="operate" table=${table}>${[...more, ...verbs].map((one) => html`<button type="button" key=${one} onClick=${() => setVerb(one)}>${EFFECTS[one][0]}</button>`)}<//>
    ${status.desired_state === 'STOPPED' && html`<${Guarded} scope="admin" table=${table}><button type="button" class="danger" onClick=${() => setVerb('delete')}>Delete</button><//>`}
    ${
      verb === 'delete' &&
      html`<${Confirm} title=${`Delete the stream ${name}?`} label="Delete the stream" danger typed=${name} act=${remove} close=${() => setVerb(null)}
        plan=${html`<p>The declaration of the stream is deleted; another stream may then write its columns. Rows, and the position of the stream, stay in the table. The topic is not changed.</p>`} />`
    }
    ${
      verb in EFFECTS &&
      html`<${Confirm} title=${`${EFFECTS[verb][0]} the stream ${name}?`} label=${EFFECTS[verb][0]} act=${act} close=${() => setVerb(null)}
        plan=${html`<p>${EFFECTS[verb][1]}</p>`} />`
    }
  `;
}

const PARTITIONS_SHOWN = 200;

export function StreamPosition({ path, table, name, status }) {
  const { data, problem, reload } = useLive(`${path}/offsets`, { every: 10_000 });
  const [open, setOpen] = useState(false);
  const isStopped = status.desired_state === 'STOPPED';
  const partitions = Object.keys(data?.offsets ?? {});
  const button =
    partitions.length > 0 &&
    html`<${Guarded} scope="operate" table=${table}><button type="button" disabled=${!isStopped} onClick=${() => setOpen(true)}>Set the position</button><//>`;
  return html`<${Card} title="Position" note=${data?.measured_at && `ends measured ${time(data.measured_at)}`} actions=${button}>
    <${ProblemNote} problem=${problem} />
    ${data && !partitions.length && html`<p class="quiet">The stream has no position yet. It gets one when it starts first.</p>`}
    ${partitions.length > 0 && html`<${Partitions} data=${data} partitions=${partitions} />`}
    ${partitions.length > 0 && !isStopped && html`<p class="small quiet">Stop the stream to set its position.</p>`}
    ${data?.moves.length > 0 && html`<details><summary>${plural(data.moves.length, 'move')} of the position</summary><${Moves} moves=${data.moves} /></details>`}
    ${open && html`<${SetPosition} path=${path} name=${name} offsets=${data.offsets} close=${() => setOpen(false)} done=${reload} />`}
  <//>`;
}

function Partitions({ data, partitions }) {
  const { offsets, beginning_offsets: beginnings, end_offsets: ends } = data;
  const rest = partitions.length - PARTITIONS_SHOWN;
  const numbers = ['First offset', 'Next to read', 'End', 'Waiting'].map((name) => [name, 'number']);
  return html`<${Table} label="Position" className="tall" heads=${['Partition', ...numbers]}>
      ${partitions.slice(0, PARTITIONS_SHOWN).map(
        (
          one,
        ) => html`<tr key=${one}><th scope="row">${one}</th><td class="number">${count(beginnings?.[one])}</td><td class="number">${count(offsets[one])}</td>
          <td class="number">${count(ends?.[one])}</td><td class="number">${ends?.[one] === undefined ? '–' : count(Math.max(0, ends[one] - offsets[one]))}</td></tr>`,
      )}
    <//>
    ${rest > 0 && html`<p class="small quiet">and ${plural(rest, 'more partition', 'more partitions')}</p>`}`;
}

const Moves = ({ moves }) =>
  html`<ul class="events">${[...moves].reverse().map(
    (move) => html`<li><p>${time(move.time)} <span class="quiet">${move.cause}</span></p>
      <p class="small">${Object.entries(move.offsets)
        .map(([one, { start, end }]) => `partition ${one}: ${count(start)} → ${count(end)}`)
        .join('; ')}</p></li>`,
  )}</ul>`;

function SetPosition({ path, name, offsets, close, done }) {
  const [texts, setTexts] = useState(
    Object.fromEntries(Object.entries(offsets).map(([one, offset]) => [one, String(offset)])),
  );
  const [beyond, setBeyond] = useState(false);
  const [etag] = useState(etagOf(`${path}/offsets`)); // of the position that the form begins with
  const changed = Object.entries(texts).filter(
    ([one, text]) => text.trim() !== String(offsets[one]) && text.trim() !== '',
  );
  const body = { offsets: Object.fromEntries(changed.map(([one, text]) => [one, Number(text)])), beyond_end: beyond };
  const { answer: plan, problem, isCurrent } = useVerdict(changed.length > 0 && `${path}/offsets/validate`, body);
  const act = async () => {
    await change('PUT', `${path}/offsets`, body, { headers: { 'if-match': etag } });
    done();
  };
  const form = html`<fieldset class="offsets"><legend class="hidden">Next offset to read, by partition</legend>
      ${Object.keys(offsets)
        .slice(0, PARTITIONS_SHOWN)
        .map(
          (
            one,
          ) => html`<label key=${one}>Partition ${one}<input inputmode="numeric" pattern="[0-9]*" value=${texts[one]}
          onInput=${(event) => setTexts({ ...texts, [one]: event.currentTarget.value })} /></label>`,
        )}
    </fieldset>
    <label class="actions"><input type="checkbox" checked=${beyond} onChange=${(event) => setBeyond(event.currentTarget.checked)} />Allow offsets beyond the measured end</label>
    <${ProblemNote} problem=${problem} />
    <div role="status">${plan && html`<${Plan} plan=${plan} />`}</div>`;
  return html`<${Confirm} title=${`Set the position of ${name}`} label="Set the position" danger act=${act} close=${close} form=${form} blocked=${!isCurrent || !plan?.valid}
    plan=${html`<p>The next offset to read, by partition. Partitions that you do not change stay where they are.</p>`} />`;
}

function Plan({ plan }) {
  if (!plan.valid) return html`<div class="problem"><${Errors} errors=${plan.errors} /></div>`;
  return html`<ul class="note">${Object.entries(plan.partitions).map(([one, effect]) => {
    const parts = [
      effect.read_again && `reads ${plural(effect.read_again, 'offset')} again`,
      effect.read_late && `reads ${plural(effect.read_late, 'skipped offset')} after all`,
      effect.skipped && `skips ${plural(effect.skipped, 'offset')}`,
    ].filter(Boolean);
    return html`<li>Partition ${one}: ${count(effect.before)} → ${count(effect.after)}; ${parts.join(', ') || 'reads and skips nothing more'}</li>`;
  })}</ul>`;
}

const PAGE = 50;

export function DeadLetters({ path, table, name, status }) {
  const numbers = useLive(`${path}/dead-letters?limit=0`, { every: 5000 });
  const [reason, setReason] = useState(null);
  const [replay, setReplay] = useState(null); // what is to be replayed
  const counts = numbers.data?.counts;
  const mayReplay = may('operate', table);
  const isEmpty = counts?.total === 0 && status.account.dead_lettered === 0;
  const all = { title: 'Replay all dead letters?', selection: {}, letters: counts?.open };
  const button =
    counts?.open > 0 &&
    html`<${Guarded} scope="operate" table=${table}><button type="button" onClick=${() => setReplay(all)}>Replay all</button><//>`;
  return html`<${Card} title="Dead letters" note=${counts && (isEmpty ? 'none' : `${count(counts.open)} open, ${count(counts.replayed)} replayed`)} actions=${button}>
    <${ProblemNote} problem=${numbers.problem} />
    ${!numbers.data && !numbers.problem && html`<${Loading} what="the dead letters" />`}
    ${isEmpty && html`<p class="quiet">Every record could be read so far. A record that cannot is kept in <code>${numbers.data.dead_letter_topic}</code>, and listed here with its reason.</p>`}
    ${
      numbers.data &&
      !isEmpty &&
      html`
        <${Reasons} counts=${counts} reason=${reason} choose=${setReason} mayReplay=${mayReplay}
          replay=${(one, letters) => setReplay({ title: `Replay the dead letters with the reason ${words(one)}?`, selection: { reasons: [one] }, letters })} />
        <${LastReplay} path=${path} mayReplay=${mayReplay} replay=${numbers.data.replay} reload=${numbers.reload} />
        <${Letters} key=${reason ?? ''} path=${path} reason=${reason} mayReplay=${mayReplay}
          replay=${(letter) => setReplay({ title: `Replay the record at partition ${letter.partition}, offset ${letter.offset}?`, selection: oneLetter(letter), letters: 1 })} />
      `
    }
    ${
      replay &&
      html`<${Confirm} title=${replay.title} label="Replay" close=${() => setReplay(null)}
        act=${async (key) => {
          await change('POST', `${path}/dead-letters/replay`, replay.selection, { key });
          numbers.reload();
        }}
        plan=${html`<p>The runner of ${name} reads ${replay.letters === 1 ? 'the record' : `${count(replay.letters)} records`} again, by the stream as it is declared now, and writes each once, at its old place in the order: newer values of the row win. A record that is refused again stays a dead letter.</p>`} />`
    }
  <//>`;
}

const oneLetter = ({ partition, offset }) => ({ offsets: { [partition]: { start: offset, end: offset + 1 } } });

const Reasons = ({ counts, reason, choose, mayReplay, replay }) =>
  html`<${Table} label="Reasons" heads=${['Reason', ['Dead letters', 'number'], ['Replayed', 'number'], ['Actions', 'number']]}>
    ${Object.entries(counts.by_reason).map(([one, letters]) => {
      const replayed = counts.replayed_by_reason[one] ?? 0;
      return html`<tr key=${one} class=${one === reason ? 'selected' : ''}><th scope="row">${words(one)}</th><td class="number">${count(letters)}</td><td class="number">${count(replayed)}</td>
        <td class="number"><button type="button" class="plain" aria-pressed=${one === reason} onClick=${() => choose(one === reason ? null : one)}>Only these</button>
          <button type="button" class="plain" disabled=${!mayReplay || letters <= replayed} onClick=${() => replay(one, letters - replayed)}>Replay</button></td></tr>`;
    })}
  <//>`;

function LastReplay({ path, mayReplay, replay, reload }) {
  const [problem, setProblem] = useState(null);
  if (!replay) return null;
  const { result } = replay;
  const withdraw = () => change('DELETE', `${path}/dead-letters/replay`).then(reload, setProblem);
  if (!result) {
    return html`<div class="note"><div class="head"><p role="status">A replay was requested <${Ago} at=${new Date(replay.requested_ms).toISOString()} />; the runner carries it out.</p>
      <div class="actions"><button type="button" disabled=${!mayReplay} onClick=${withdraw}>Withdraw it</button></div></div><${ProblemNote} problem=${problem} /></div>`;
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
function Letters({ path, reason, mayReplay, replay }) {
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
    ${letters.map((letter) => html`<${Letter} key=${`${letter.partition}/${letter.offset}`} letter=${letter} mayReplay=${mayReplay} replay=${replay} />`)}
    ${last && !letters.length && html`<p class="quiet">No records were found.</p>`}
    <${ProblemNote} problem=${problem} />
    <div class="actions">${button}</div>
  `;
}

const Letter = ({ letter, mayReplay, replay }) =>
  html`<details class="letter">
    <summary><span class="badge bad">${words(letter.reason)}</span> ${letter.message}
      ${' '}<span class="small quiet">partition ${letter.partition}, offset ${letter.offset}${letter.standing !== 'open' && ` · ${words(letter.standing)}`}</span></summary>
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
      <div class="actions"><button type="button" disabled=${!mayReplay || letter.standing !== 'open'} onClick=${() => replay(letter)}>Replay this record</button></div>
    </div>
  </details>`;
