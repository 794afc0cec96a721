// The curves of one run: kept as columns, drawn as charts, and added to as records come.
import { lineChart } from './chart.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { count, duration } from './words.js';

export const RETURN = ['rollout/ep_rew_mean', 'eval/mean_reward'];
const USUAL = ['rollout/ep_len_mean', 'train/entropy', 'train/approx_kl', 'train/explained_variance', 'time/fps'];
const KEPT = 'gymsolve.charts';
const MOST = 20000;

/** What was recorded of some metrics. */
export class Tracks {
  constructor() {
    this.clear();
  }

  clear() {
    this.of = new Map();
    this.clock = null;
  }

  /** Take what the server told; a fresh answer replaces what there was of its metrics. */
  add(answer) {
    if (answer.fresh) this.clear();
    for (const [name, { steps, seconds, values, total }] of Object.entries(answer.series)) {
      const kept = this.of.get(name) ?? { steps: [], seconds: [], values: [], total: 0 };
      for (let at = 0; at < steps.length; at += 1) {
        kept.steps.push(steps[at]);
        kept.seconds.push(seconds[at] ?? this.clock);
        kept.values.push(values[at]);
      }
      kept.total += total;
      if (kept.values.length > MOST) halve(kept);
      this.of.set(name, kept);
    }
    for (const { seconds } of Object.values(answer.series)) {
      for (const second of seconds) if (second !== null && second > (this.clock ?? -1)) this.clock = second;
    }
  }

  last(name) {
    const values = this.of.get(name)?.values ?? [];
    return values.length ? values[values.length - 1] : null;
  }

  thinned(name) {
    const kept = this.of.get(name);
    return kept && kept.total > kept.values.length ? kept.total : 0;
  }
}

/** Of every four points the smallest and the largest: a spike stays, and memory ends somewhere. */
function halve(kept) {
  const places = [];
  for (let at = 0; at < kept.values.length; at += 4) {
    const part = [at, at + 1, at + 2, at + 3].filter((place) => place < kept.values.length && kept.values[place] !== null);
    if (!part.length) continue;
    const low = part.reduce((a, b) => (kept.values[b] < kept.values[a] ? b : a));
    const high = part.reduce((a, b) => (kept.values[b] > kept.values[a] ? b : a));
    places.push(...new Set([Math.min(low, high), Math.max(low, high)]));
  }
  for (const column of ['steps', 'seconds', 'values']) kept[column] = places.map((place) => kept[column][place]);
}

/**
 * The charts of a run in an element; `wanted()` names the metrics to ask for.
 *
 * `closer({axis, from, to, names})` gives what the server has of a part that somebody zooms into.
 */
export class Curves {
  constructor(element, { tracks, onChange, closer }) {
    Object.assign(this, { element, tracks, onChange, closer, detail: null, looking: 0, asked: 0, axis: 'steps', smoothing: 0, threshold: null, unit: '', metrics: [], charts: [] });
  }

  /** Which metrics there are, the threshold to draw, and what training episodes are where they are parts of games. */
  know(metrics, threshold, unit) {
    const before = this.metrics.length;
    this.metrics = metrics;
    this.threshold = threshold;
    this.unit = unit;
    if (metrics.length !== before) this.build();
  }

  get names() {
    const known = new Set(this.metrics.map((metric) => metric.name));
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? 'null') ?? USUAL;
    return kept.filter((name) => known.has(name) && !RETURN.includes(name));
  }

  wanted() {
    return [...RETURN, 'rollout/cut_share', 'eval/std_reward', 'progress', 'time/fps', ...this.names.filter((name) => name !== 'time/fps')];
  }

  choose(names) {
    localStorage.setItem(KEPT, JSON.stringify(names));
    this.build();
    this.onChange();
  }

  set(changes) {
    const rebuild = changes.axis !== undefined || (changes.smoothing === 0) !== (this.smoothing === 0);
    Object.assign(this, changes);
    if (rebuild) this.build();
    else this.draw();
  }

  /** Lay out a figure per chart. */
  build() {
    this.charts.forEach(({ chart }) => chart.destroy());
    const plans = [{ title: 'Return', names: RETURN }, ...this.names.map((name) => ({ title: name, names: [name], own: true }))];
    render(html`${plans.map((plan) => html`<figure class="card chart ${plan.own ? '' : 'first'}"><figcaption></figcaption><div class="plot"></div></figure>`)}`, this.element);
    const figures = [...this.element.querySelectorAll('figure')];
    figures.forEach((figure) => figure.querySelector('.plot').replaceChildren());
    this.charts = plans.map((plan, at) => this.chart(plan, figures[at]));
    this.draw();
  }

  chart(plan, figure) {
    const isSmooth = this.smoothing > 0;
    const line = { label: plan.names[0] === RETURN[0] ? `training episodes${this.unit ? `, ${this.unit}` : ''}` : plan.title, color: 'c0' };
    const series = [...(isSmooth ? [{ ...line, label: 'as recorded', faint: true }] : []), line];
    if (!plan.own) series.push({ label: 'evaluations', color: 'c1', marks: true }, { label: 'threshold', color: 'soft', dash: [5, 4], width: 1 });
    const inTime = this.axis === 'seconds';
    const chart = lineChart(figure.querySelector('.plot'), {
      series, x: inTime ? 'time of training' : 'environment steps', formatX: inTime ? duration : undefined,
      legend: !plan.own, sync: 'run', height: plan.own ? 180 : 240,
      hooks: { setScale: [(_, scale) => { if (scale === 'x') this.lookSoon(); }] },
    });
    return { plan, chart, caption: figure.querySelector('figcaption') };
  }

  /** Put what there is into the charts. */
  draw() {
    const zoomed = this.charts.find(({ chart }) => isZoomed(chart));
    const part = zoomed && { min: zoomed.chart.plot.scales.x.min, max: zoomed.chart.plot.scales.x.max };
    for (const { plan, chart, caption } of this.charts) {
      render(this.caption(plan), caption);
      const columns = this.columns(plan);
      if (isZoomed(chart)) {
        columns.forEach((column, at) => { chart.columns[at] = column; });
        chart.plot.setData(chart.columns, false);
        chart.plot.redraw();
      } else {
        const first = chart.columns[0].length < 2;
        chart.set(columns);
        if (part && first && columns[0].length > 1) chart.plot.setScale('x', part); // it comes late, and all zoom together
      }
    }
  }

  /** What was looked at closely is of other records now. */
  forget() {
    this.detail = null;
    this.asked += 1; // an answer under way is of the records before
    this.lookSoon();
  }

  lookSoon() {
    clearTimeout(this.looking);
    this.looking = setTimeout(() => this.look(), 150); // all charts zoom together
  }

  /** Where charts are zoomed into thinned curves, ask for all records of that part. */
  async look() {
    const zoomed = this.charts.filter(({ chart }) => isZoomed(chart));
    const names = [...new Set(zoomed.flatMap(({ plan }) => plan.names))].filter((name) => this.tracks.thinned(name));
    const ends = zoomed.map(({ chart }) => chart.plot.scales.x);
    const part = { axis: this.axis, from: Math.min(...ends.map(({ min }) => min)), to: Math.max(...ends.map(({ max }) => max)), names };
    const key = JSON.stringify(part);
    if (!names.length || this.detail?.key === key) {
      this.asked += 1;
      const before = this.detail;
      if (!names.length) this.detail = null;
      if (before !== this.detail) this.draw();
      return;
    }
    this.asked += 1;
    const mine = this.asked;
    const answer = await this.closer(part);
    if (!answer || mine !== this.asked || this.axis !== part.axis) return; // somebody has zoomed elsewhere meanwhile
    const tracks = new Tracks();
    tracks.add({ series: answer.series });
    this.detail = { key, from: part.from, tracks };
    this.draw();
  }

  /** What is drawn of a metric: the thinned curve, with all records in the part that was looked at closely. */
  track(name) {
    const all = this.tracks.of.get(name) ?? { steps: [], seconds: [], values: [] };
    const near = this.detail?.tracks.of.get(name);
    if (!near) return all;
    const places = near[this.axis];
    const last = places[places.length - 1];
    const before = all[this.axis].findIndex((place) => place !== null && place >= this.detail.from);
    const after = all[this.axis].findIndex((place) => place !== null && place > last);
    const join = (column) => [...all[column].slice(0, before), ...near[column], ...(after < 0 ? [] : all[column].slice(after))];
    return before < 0 ? all : { steps: join('steps'), seconds: join('seconds'), values: join('values') };
  }

  caption(plan) {
    const about = this.metrics.find((metric) => metric.name === plan.names[0]);
    const near = this.detail && plan.names.some((name) => this.detail.tracks.of.has(name));
    const tracks = near ? this.detail.tracks : this.tracks;
    const total = Math.max(...plan.names.map((name) => tracks.thinned(name)));
    const part = near ? ' of this part' : '';
    const drop = () => this.choose(this.names.filter((name) => name !== plan.title));
    return html`<span><b>${plan.title}</b> <span class="soft small">${plan.own ? about?.title : `mean raw return per episode${this.unit ? `; training counts ${this.unit}, evaluations whole games` : ''}`}</span>
      ${total ? html`<span class="soft small">Thinned: the smallest and the largest of equal parts of ${count(total)} records${part}.</span>`
        : near ? html`<span class="soft small">All records of this part.</span>` : nothing}</span>
      ${plan.own ? html`<button type="button" class="quiet" aria-label="Remove the chart of ${plan.title}" @click=${drop}>×</button>` : nothing}`;
  }

  columns(plan) {
    const tracks = plan.names.map((name) => this.track(name));
    const [xs, ...values] = align(tracks.map((track) => [track[this.axis], track.values]));
    const main = this.smoothing > 0 ? [values[0], smooth(values[0], this.smoothing)] : [values[0]];
    if (plan.own) return [xs, ...main];
    return [xs, ...main, values[1], xs.map(() => this.threshold)];
  }
}

function isZoomed({ plot, columns: [known] }) {
  const { min, max } = plot.scales.x;
  return known.length > 1 && (min > known[0] || max < known[known.length - 1]);
}

/** Several series over the sorted union of their places; null where one has no value. */
export function align(series) {
  if (series.length === 1) return sorted(series[0]);
  const all = new Set();
  series.forEach(([places]) => places.forEach((place) => { if (place !== null) all.add(place); }));
  const xs = Float64Array.from(all).sort();
  const at = new Map();
  xs.forEach((x, index) => at.set(x, index));
  const columns = series.map(([places, values]) => {
    const column = new Array(xs.length).fill(null);
    places.forEach((place, index) => { if (place !== null) column[at.get(place)] = values[index]; });
    return column;
  });
  return [Array.from(xs), ...columns];
}

function sorted([places, values]) {
  const order = places.map((_, index) => index).filter((index) => places[index] !== null);
  if (order.some((index, at) => at && places[index] < places[order[at - 1]])) order.sort((a, b) => places[a] - places[b]);
  return [order.map((index) => places[index]), order.map((index) => values[index])];
}

/** Exponential mean without the pull of its start. */
export function smooth(values, weight) {
  let mean = 0;
  let share = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = weight * mean + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return mean / share;
  });
}
