// Line charts that follow the theme and the width of their place.
import uPlot from './vendor/uPlot.esm.js';
import { colour, onTheme } from './shell.js';

const FONT = '12px system-ui, sans-serif';

/**
 * A line chart in an element.
 *
 * `series`: [{label, color?, width?, dash?, marks?, faint?}], where color is a name such as 'c0'; `x`: label of the
 * axis; `height`; `onCursor(index)`; `sync`: a key that charts share their cursor by; `formatX`, `formatY`.
 * Gives `set(columns)` (x first), `append(rows)` (arrays with x first), `cursor(index)`, `destroy()`.
 */
export function lineChart(element, options) {
  const columns = [[], ...options.series.map(() => [])];
  let plot = null;
  let gone = false;
  const build = () => {
    if (gone) return;
    plot?.destroy();
    plot = new uPlot(settings(element, options), columns, element);
  };
  const draw = () => plot.setData(columns);
  build();
  onTheme(build);
  const watcher = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: options.height ?? 220 });
  });
  watcher.observe(element);
  element.chart = {
    set(given) {
      given.forEach((column, at) => { columns[at] = column; });
      draw();
    },
    append(rows) {
      for (const row of rows) row.forEach((value, at) => columns[at].push(value));
      draw();
    },
    cursor(index) {
      if (columns[0].length) plot.setCursor({ left: plot.valToPos(columns[0][index], 'x'), top: 0 });
    },
    get plot() { return plot; },
    get columns() { return columns; },
    destroy() {
      gone = true;
      watcher.disconnect();
      plot.destroy();
    },
  };
  return element.chart; // also there for whoever wants to read what is drawn
}

/** 12,300 → 12k, 0.00012 → 1.2e-4: as short as an axis needs it. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return trim(value);
}

/** Labels of ticks; with more digits where the short ones would be the same. */
export function apart(ticks, format) {
  for (let digits = 5; digits <= 15; digits += 1) {
    const labels = digits === 5 ? ticks.map(format) : ticks.map((tick) => String(Number(tick.toPrecision(digits))));
    if (new Set(labels).size === ticks.length || digits === 15) return labels;
  }
  return [];
}

/** The range of an axis: a line that stays level lies in the middle. */
export function inSight(low, high) {
  if (low === null || high === null) return [null, null];
  const room = Math.abs(low) || 1;
  return low === high ? [low - room, high + room] : uPlot.rangeNum(low, high, 0.1, true);
}

function trim(value) {
  return String(Number(value.toPrecision(4)));
}

function settings(element, options) {
  const axis = { stroke: colour('soft'), font: FONT, grid: { stroke: colour('rule'), width: 1 }, ticks: { show: false } };
  const formatX = options.formatX ?? short;
  const formatY = options.formatY ?? short;
  return {
    width: Math.max(120, Math.floor(element.clientWidth)),
    height: options.height ?? 220,
    legend: { show: options.legend ?? options.series.length > 1, live: true },
    cursor: {
      sync: options.sync ? { key: options.sync } : undefined,
      points: { size: 6 },
      drag: { x: true, y: false },
    },
    scales: { x: { time: false }, y: { range: (_, low, high) => inSight(low, high) } },
    axes: [
      { ...axis, size: 30, label: options.x, labelSize: 18, labelFont: FONT, values: (_, ticks) => ticks.map(formatX) },
      { ...axis, size: 58, values: (_, ticks) => apart(ticks, formatY) },
    ],
    series: [
      { label: options.x ?? 'x', value: (_, v) => (v === null ? '–' : formatX(v)) },
      ...options.series.map((line, at) => ({
        label: line.label,
        stroke: colour(line.color ?? `c${at % 8}`) + (line.faint ? '55' : ''),
        width: line.width ?? 1.6,
        dash: line.dash,
        spanGaps: true,
        points: { show: line.marks ?? false, size: 6 },
        value: (_, v) => (v === null ? '–' : formatY(v)),
      })),
    ],
    bands: options.bands,
    hooks: { setCursor: options.onCursor ? [(u) => options.onCursor(u.cursor.idx)] : [], ...options.hooks },
  };
}
