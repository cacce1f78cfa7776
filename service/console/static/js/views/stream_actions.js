// What can be done to a stream: the verbs, and a new position; each shows its effect before it is done.

import { change, useLive, useSettled } from '../api.js';
import { count, plural, time } from '../format.js';
import { html, useEffect, useState } from '../html.js';
import { go } from '../route.js';
import { Card, Errors, ProblemNote, Table } from '../parts/basics.js';
import { Confirm } from '../parts/forms.js';

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

export function StreamActions({ path, name, status, home, reload }) {
  const [verb, setVerb] = useState(null);
  const [said, setSaid] = useState('');
  const verbs = VERBS[status.desired_state] ?? [];
  const more =
    ['FAILED', 'RETRYING', 'COMPLETED'].includes(status.state) && status.desired_state === 'RUNNING' ? ['start'] : [];
  const act = async () => {
    const answer = await change('POST', `${path}/${verb}`);
    setSaid(answer.message);
    reload();
  };
  const remove = async () => {
    await change('DELETE', `${path}?confirm=${encodeURIComponent(name)}`);
    go(home);
  };
  return html`
    <span role="status" class="small quiet">${said}</span>
    ${[...more, ...verbs].map((one) => html`<button type="button" key=${one} onClick=${() => setVerb(one)}>${EFFECTS[one][0]}</button>`)}
    ${status.desired_state === 'STOPPED' && html`<button type="button" class="danger" onClick=${() => setVerb('delete')}>Delete</button>`}
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

export function StreamPosition({ path, name, status }) {
  const { data, problem, reload } = useLive(`${path}/offsets`, { every: 10_000 });
  const [open, setOpen] = useState(false);
  const isStopped = status.desired_state === 'STOPPED';
  const partitions = Object.keys(data?.offsets ?? {});
  const button =
    partitions.length > 0 &&
    html`<button type="button" disabled=${!isStopped} onClick=${() => setOpen(true)}>Set the position</button>`;
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
  const [plan, setPlan] = useState(null);
  const [problem, setProblem] = useState(null);
  const changed = Object.entries(texts).filter(
    ([one, text]) => text.trim() !== String(offsets[one]) && text.trim() !== '',
  );
  const body = { offsets: Object.fromEntries(changed.map(([one, text]) => [one, Number(text)])), beyond_end: beyond };
  const asked = useSettled(JSON.stringify(body));
  useEffect(() => {
    const ended = new AbortController();
    setPlan(null);
    setProblem(null);
    if (Object.keys(JSON.parse(asked).offsets).length) {
      change('POST', `${path}/offsets/validate`, JSON.parse(asked), { ended: ended.signal }).then(setPlan, (error) => {
        if (!ended.signal.aborted) setProblem(error);
      });
    }
    return () => ended.abort();
  }, [asked, path]);
  const act = async () => {
    await change('PUT', `${path}/offsets`, body);
    done();
  };
  const ready = plan !== null && plan.valid && asked === JSON.stringify(body);
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
  return html`<${Confirm} title=${`Set the position of ${name}`} label="Set the position" danger act=${act} close=${close} form=${form} ready=${ready}
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
