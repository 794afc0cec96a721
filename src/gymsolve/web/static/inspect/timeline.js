// Curves over the steps of the episode, with the cursor across all of them; a click moves it.
import { lineChart, short } from '../chart.js';
import { html, render } from '../vendor/lit-html.js';

const GROUPS = [
  ['Values', [['value', 'value'], ['return_to_go', 'return-to-go'], ['return', 'target of the value']]],
  ['Advantages', [['advantage', 'advantage'], ['td_error', 'TD error'], ['advantage_value', 'return-to-go − value'],
    ['advantage_mean', 'return-to-go − its mean']]],
  ['Rewards', [['reward_seen', 'reward'], ['reward', 'reward learned from']]],
  ['Policy', [['entropy', 'entropy'], ['log_prob', 'log-probability'], ['memory_norm', 'memory, norm'], ['memory_change', 'memory, change']]],
];
const SHOWN = new Set(['value', 'return_to_go', 'advantage', 'td_error', 'reward_seen', 'entropy']);

export const timeline = {
  id: 'timeline',
  title: 'Timeline',
  wide: true,
  when: (view) => view.episode.steps !== 1 || view.episode.facts.state === 'playing',
  make(element, view) {
    let charts = [];
    const groups = GROUPS.map(([title, series]) => [title, [
      ...series, ...(title === 'Rewards' ? view.episode.spec.components.map((name) => [`reward/${name}`, name]) : []),
    ].filter(([name]) => name in HERE || view.episode.column(name)).map(([name, text], at) => [name, text, `c${at % 8}`])]);

    function build() {
      charts.forEach(({ chart }) => chart.destroy());
      charts = [];
      render(groups.map(([title, series]) => html`<div class="track-of"><fieldset><legend>${title}</legend>
        ${series.map(([name, text], at) => html`<label><span class="swatch" .style=${`background:var(--c${at % 8})`}></span><input type="checkbox" .checked=${SHOWN.has(name)} @change=${(event) => {
          if (event.target.checked) SHOWN.add(name); else SHOWN.delete(name);
          build();
        }}> ${text}</label>`)}</fieldset>
        <div class="chart" data-group=${title} role="img" aria-label=${`${title} over the steps of the episode`}></div></div>`), element);
      const places = [...element.querySelectorAll('.chart')];
      const shown = places.map(({ dataset }) => groups.find(([title]) => title === dataset.group)[1].filter(([name]) => SHOWN.has(name)));
      const last = shown.findLastIndex((series) => series.length);
      places.forEach((place, at) => {
        place.replaceChildren();
        if (shown[at].length) charts.push(make(place, shown[at], at === last));
      });
      fill();
    }

    function make(place, series, last) {
      const line = document.createElement('div');
      line.className = 'cursor-line';
      const chart = lineChart(place, {
        series: series.map(([, label, color]) => ({ label, color })),
        x: last ? 'step' : undefined,
        height: last ? 150 : 128,
        legend: false,
        formatX: (step) => (Number.isInteger(step) ? short(step) : ''),
        sync: 'inspect',
        hooks: {
          ready: [(plot) => plot.over.append(line)],
          setScale: [(plot, key) => { if (key === 'x') move(plot, line); }],
          setSize: [(plot) => move(plot, line)],
        },
      });
      place.addEventListener('click', (event) => {
        const box = chart.plot.over.getBoundingClientRect();
        const left = event.clientX - box.left;
        if (left >= 0 && left <= box.width && event.clientY >= box.top && event.clientY <= box.bottom) view.goto(chart.plot.posToVal(left, 'x'));
      });
      return { chart, line, names: series.map(([name]) => name) };
    }

    function move(plot, line) {
      const left = plot.valToPos(view.state, 'x');
      const width = plot.bbox.width / devicePixelRatio;  // asking the element would lay the page out again
      line.hidden = !(left >= 0 && left <= width + 1);
      line.style.transform = `translateX(${left}px)`;
    }

    function fill() {
      const { steps } = view.episode;
      const x = Float64Array.from({ length: steps }, (_, at) => at);
      for (const { chart, names } of charts) {
        chart.set([x, ...names.map((name) => padded(view.episode.column(name), steps))]);
      }
      show();
    }

    function show() {
      for (const { chart, line } of charts) move(chart.plot, line);
    }

    build();
    return { show, grow: fill, close() { charts.forEach(({ chart }) => chart.destroy()); } };
  },
};

const HERE = { advantage: 1, td_error: 1, return: 1, return_to_go: 1, advantage_value: 1, advantage_mean: 1, reward: 1 };

/** A column of as many numbers as there are steps: credit may lag behind while the episode is played. */
function padded(column, steps) {
  if (!column) return new Array(steps).fill(null);
  if (column.length === steps) return column;
  return Array.from({ length: steps }, (_, at) => column[at] ?? null);
}
