// The flow of a table: its streams, the parts of the row that they write, and charts of some hours.

import { useLive, useRates } from '../api.js';
import { bandsOf } from '../declarations.js';
import { brief, count, duration, percent, plural, rate, time } from '../format.js';
import { html, useLayoutEffect, useMemo, useRef, useState } from '../html.js';
import { apiPath, link, streamsPath } from '../route.js';
import { Card, Empty, Lag, Loading, Meter, ProblemNote, State, toneOf } from '../parts/basics.js';

const STREAMS_MAX = 12;
const COLUMNS_MAX = 8;

export function Flow({ database, table, declared, completeness }) {
  const path = `${streamsPath(database, table, STREAMS_MAX)}&sort=-freshness&expand=status`;
  const { data, problem } = useLive(path);
  const rated = useRates();
  const streams = useMemo(
    () => data?.streams.map((stream) => ({ ...stream, ...rated(stream.name, stream.status) })),
    [data],
  );
  if (!streams) return problem ? html`<${ProblemNote} problem=${problem} />` : html`<${Loading} what="the streams" />`;
  const bands = shownBands(declared, streams);
  const all = declared.streams.length;
  const diagram = html`<${Card} title="Streams and the columns that they write"
    note=${streams.length < all && `${streams.length} of ${count(all)} streams, the least fresh ones`}>
    ${
      streams.length === 0
        ? html`<${NoStreams} database=${database} table=${table} hidden=${all} />`
        : html`<${Diagram} database=${database} table=${table} declared=${declared} completeness=${completeness}
            bands=${bands} streams=${inOrder(streams, bands)} />`
    }
  <//>`;
  return html`<div class="stack">${diagram}<${Charts} database=${database} table=${table} /></div>`;
}

/** What stands where no stream is shown; `hidden` is the number of those that the table has all the same. */
export const NoStreams = ({ database, table, hidden }) =>
  hidden
    ? html`<${Empty} title="The streams are not shown to you"><p>Columns of this table are masked for your token.</p><//>`
    : html`<${Empty} title="No stream fills this table yet">
        <p>A stream reads a Kafka topic and writes the key and the columns of one sequence group.</p>
        <a class="button main" href=${link(['tables', database, table, 'new-stream'])}>Add a stream</a>
      <//>`;

function Diagram({ database, table, declared, completeness, bands, streams }) {
  const box = useRef(null);
  const pairs = bands.flatMap((band) => band.streams.map((stream) => [stream.name, band.name ?? '']));
  const edges = useEdges(box, pairs);
  const byName = new Map(streams.map((stream) => [stream.name, stream]));
  return html`<div class="flow" ref=${box}>
    <svg class="edges" aria-hidden="true">
      ${edges.map(({ from, to, path }) => {
        const stream = byName.get(from);
        return html`<path key=${`${from}/${to}`} d=${path} stroke-width=${edgeWidth(stream?.rate)}
          class="edge ${toneOf(stream?.state)} ${stream?.rate > 0 ? 'moves' : ''}" />`;
      })}
    </svg>
    <ul class="flow-streams" aria-label="Streams">
      ${streams.map((stream) => html`<${StreamCard} key=${stream.name} database=${database} table=${table} stream=${stream} />`)}
    </ul>
    <div class="flow-row" role="group" aria-label="The row">
      <div class="band key"><h3>Key</h3><p class="mono small">${declared.spec.primary_key.join(', ')}</p></div>
      ${bands.map((band) => html`<${Band} key=${band.name ?? ''} band=${band} counts=${completeness?.groups[band.name]?.rows} />`)}
    </div>
  </div>`;
}

const StreamCard = ({ database, table, stream }) =>
  html`<li class="flow-stream ${toneOf(stream.state)}" data-stream=${stream.name}>
    <div class="head"><a href=${link(['tables', database, table, 'streams', stream.name])}>${stream.name}</a><${State} state=${stream.state} /></div>
    <p class="small quiet">topic ${stream.topic}</p>
    <p class="small"><${Lag} stream=${stream} />${
      stream.rate !== null && stream.rate !== undefined && html` · ${rate(stream.rate)}`
    }${stream.lag_records > 0 && html` · ${brief(stream.lag_records)} waiting`}</p>
  </li>`;

function Band({ band, counts }) {
  const rest = band.columns.length - COLUMNS_MAX;
  const rows = counts && counts.absent + counts.present + counts.stale + counts.deleted;
  return html`<div class="band" data-band=${band.name ?? ''}>
    <div class="head">
      <h3>${band.name ?? 'Columns outside of groups'}</h3>
      ${band.streams.length === 0 && html`<span class="badge warn">no stream</span>`}
    </div>
    <p class="mono small band-columns">${band.columns
      .slice(0, COLUMNS_MAX)
      .map(
        (column) => html`<span title=${column.type}>${column.name}</span>`,
      )}${rest > 0 && html`<span class="quiet">and ${plural(rest, 'more column', 'more columns')}</span>`}</p>
    ${rows > 0 && html`<${Meter} part=${(counts.present + counts.stale) / rows} label="Rows that have this group:" />`}
  </div>`;
}

/** Returns the edges from streams to bands as paths in pixels, measured after each change of the layout. */
function useEdges(box, pairs) {
  const [edges, setEdges] = useState([]);
  const wanted = JSON.stringify(pairs);
  useLayoutEffect(() => {
    const measure = () => {
      const origin = box.current.getBoundingClientRect();
      const placed = (kind) =>
        new Map(
          [...box.current.querySelectorAll(`[data-${kind}]`)].map((one) => [
            one.dataset[kind],
            one.getBoundingClientRect(),
          ]),
        );
      const streams = placed('stream');
      const bands = placed('band');
      const found = pairs.map(([from, to]) => ({ from, to, path: curve(streams.get(from), bands.get(to), origin) }));
      setEdges((before) => (JSON.stringify(before) === JSON.stringify(found) ? before : found));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    box.current.querySelectorAll('[data-stream], [data-band]').forEach((one) => observer.observe(one));
    return () => observer.disconnect();
  }, [wanted]);
  return edges;
}

function curve(stream, band, origin) {
  const [x1, y1] = [stream.right - origin.left, (stream.top + stream.bottom) / 2 - origin.top];
  const [x2, y2] = [band.left - origin.left, (band.top + band.bottom) / 2 - origin.top];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

// Ten times as many records: 2 pixels more.
const edgeWidth = (perSecond) => (2 + 2 * Math.log10(1 + (perSecond ?? 0))).toFixed(1);

/** Returns the streams in the order of the bands that they write, so that edges do not cross. */
const inOrder = (streams, bands) => [...new Set([...bands.flatMap((band) => band.streams), ...streams])];

/** Returns the bands that have a shown stream; of a table with few groups all. */
function shownBands(declared, streams) {
  const bands = bandsOf(declared, streams);
  return bands.length <= STREAMS_MAX ? bands : bands.filter((band) => band.streams.length > 0);
}

const LINES_MAX = 8;
const MINUTES = 180;
const TITLES = {
  lag_seconds: 'Lag',
  rate: 'Rate',
  batch_seconds: 'Duration of batches',
  completeness: 'Complete rows',
  lag_records: 'Records waiting',
  sorted_runs: 'Sorted runs',
};
const TEXTS = { seconds: duration, records_per_second: rate, ratio: percent };
const HEIGHT = 150;
const LEFT = 68; // for the texts of the values
const TOP = 10; // half of such a text
const BOTTOM = 22; // for the times

function Charts({ database, table }) {
  const { data } = useLive(`${apiPath(database, table, 'history')}?minutes=${MINUTES}`, { every: 10_000 });
  const charts = useMemo(() => chartsOf(data), [data]);
  return html`<div class="charts">
    ${charts.map(
      ({ title, unit, lines, rest }) =>
        html`<${Card} key=${title} title=${title} note=${rest > 0 && `${LINES_MAX} of ${LINES_MAX + rest} streams`}>
          <${Chart} times=${data.times} lines=${lines} text=${TEXTS[unit] ?? brief} />
        <//>`,
    )}
  </div>`;
}

/** Returns a chart for each name of series, with its lines. */
function chartsOf(data) {
  const series = Map.groupBy(data?.series ?? [], (one) => one.name);
  return Object.entries(TITLES)
    .filter(([name]) => series.has(name))
    .map(([name, title]) => {
      const lines = series.get(name).map((one) => ({ name: one.stream ?? 'table', values: one.values }));
      const rest = Math.max(0, lines.length - LINES_MAX);
      return { title, unit: series.get(name)[0].unit, lines: lines.slice(0, LINES_MAX), rest };
    });
}

/** Lines over time; the values under the pointer, else the newest ones, stand below. Unknown values are gaps. */
function Chart({ times, lines, text }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState(null); // index of the time under the pointer
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current.clientWidth));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const moments = times.map((one) => new Date(one).getTime());
  const [first, last] = [moments[0], moments.at(-1)];
  const top = Math.max(...lines.flatMap((line) => line.values), 0) || 1;
  const x = (index) => LEFT + ((moments[index] - first) / (last - first || 1)) * (width - LEFT - 4);
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - BOTTOM - TOP);
  const point = (event) => {
    const wanted = first + ((event.offsetX - LEFT) / (width - LEFT - 4)) * (last - first);
    setAt(
      moments.reduce(
        (best, one, index) => (Math.abs(one - wanted) < Math.abs(moments[best] - wanted) ? index : best),
        0,
      ),
    );
  };
  return html`<div class="chart" ref=${box}>
    <svg width=${width} height=${HEIGHT} aria-hidden="true" onPointerMove=${point} onPointerLeave=${() => setAt(null)}>
      ${[0, 0.5, 1].map(
        (part) => html`<line class="grid" x1=${LEFT} x2=${width} y1=${y(part * top)} y2=${y(part * top)} />
          <text x=${LEFT - 8} y=${y(part * top) + 4} text-anchor="end">${text(part * top)}</text>`,
      )}
      <text x=${LEFT} y=${HEIGHT - 4}>${clock(first)}</text>
      <text x=${width - 4} y=${HEIGHT - 4} text-anchor="end">${clock(last)}</text>
      ${lines.map((line, index) => html`<path class="line line-${index}" d=${pathOf(line.values, x, y)} />`)}
      ${at !== null && html`<line class="cursor" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
    </svg>
    <ul class="legend">${lines.map((line, index) => {
      const value = at === null ? line.values.findLast((one) => one !== null) : line.values[at];
      return html`<li><svg width="12" height="12" aria-hidden="true"><path class="line line-${index}" d="M0 6H12" /></svg>${line.name} <strong>${value === null ? '–' : text(value)}</strong></li>`;
    })}${at !== null && html`<li class="quiet">${clock(moments[at])}</li>`}</ul>
  </div>`;
}

const clock = (moment) => (Number.isFinite(moment) ? time(new Date(moment).toISOString()).slice(11, 16) : '');

/** Returns the path of a line; after an unknown value it begins anew. */
function pathOf(values, x, y) {
  let isAfterGap = true;
  return values
    .map((value, index) => {
      if (value === null) {
        isAfterGap = true;
        return '';
      }
      const place = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      const step = isAfterGap ? `M${place}h0` : `L${place}`; // a single value is a dot
      isAfterGap = false;
      return step;
    })
    .join('');
}
