// The charts of a table, from what the service keeps of some hours: lag, rate, duration of batches, completeness.

import { useLive } from '../api.js';
import { brief, duration, percent, rate, time } from '../format.js';
import { html, useLayoutEffect, useMemo, useRef, useState } from '../html.js';
import { apiPath } from '../route.js';
import { Card, words } from './basics.js';

const LINES_MAX = 8;
const MINUTES = 180;
const TEXTS = { seconds: duration, records_per_second: rate, ratio: percent };
const HEIGHT = 150;
const LEFT = 60; // for the texts of the values
const BOTTOM = 22; // for the times

export function Charts({ database, table }) {
  const { data } = useLive(`${apiPath(database, table, 'history')}?minutes=${MINUTES}`, { every: 10_000 });
  const charts = useMemo(() => chartsOf(data), [data]);
  return html`<div class="charts">
    ${charts.map(
      ({
        name,
        unit,
        lines,
        rest,
      }) => html`<${Card} key=${name} title=${words(name)} note=${rest > 0 && `${LINES_MAX} of ${LINES_MAX + rest} streams`}>
        <${Chart} times=${data.times} lines=${lines} text=${TEXTS[unit] ?? brief} />
      <//>`,
    )}
  </div>`;
}

/** Returns a chart for each name of series that has a value, with its lines. */
function chartsOf(data) {
  const known = (data?.series ?? []).filter((series) => series.values.some((one) => one !== null));
  return [...Map.groupBy(known, (series) => series.name)].map(([name, series]) => ({
    name,
    unit: series[0].unit,
    lines: series.slice(0, LINES_MAX).map((one) => ({ name: one.stream ?? 'table', values: one.values })),
    rest: Math.max(0, series.length - LINES_MAX),
  }));
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
  const y = (value) => 4 + (1 - value / top) * (HEIGHT - BOTTOM - 4);
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
      ${at !== null && html`<line class="cursor" x1=${x(at)} x2=${x(at)} y1="4" y2=${HEIGHT - BOTTOM} />`}
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
