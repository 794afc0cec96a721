// Runs side by side: results, curves on a common axis with seeds as bands, and the settings that differ.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { lineChart } from './chart.js';
import { align } from './curves.js';
import { colour, page, showError } from './shell.js';
import { shortNames } from './short_names.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { duration } from './words.js';

const AXES = [['env_steps', 'environment steps'], ['vec_steps', 'vector steps'], ['time', 'time']];
const main = page('Compare');
const given = new URLSearchParams(location.search);
const runs = (given.get('runs') ?? '').split(',').filter(Boolean);
const state = { axis: given.get('axis') ?? '', metric: given.get('metric') ?? '', answer: null, charts: [], shape: '' };
let timer = 0;

async function look() {
  clearTimeout(timer);
  try {
    state.answer = await get(api.compare({ runs: runs.join(','), axis: state.axis, metric: state.metric }));
    showError(null);
    draw();
  } catch (error) {
    showError(error);
    if (!state.answer) render(html`<h1>Compare</h1><p><a href="/">Choose runs in the list</a></p>`, main);
    if (error.status === 404) return;
  }
  if (state.answer?.comparison.runs.some((run) => run.status === 'running')) timer = setTimeout(again, 5000);
}

function again() {
  if (document.hidden) timer = setTimeout(again, 1000);
  else look();
}

function change(changes) {
  Object.assign(state, changes);
  const words = { runs: runs.join(','), ...(state.axis && { axis: state.axis }), ...(state.metric && { metric: state.metric }) };
  history.replaceState(null, '', pages.compare(words));
  look();
}

function draw() {
  const { comparison, axis, charts, metrics } = state.answer;
  const { runs: compared, results, seeds, conclusions, differences, incidental, remark, problems } = comparison;
  const names = new Map(shortNames(compared, differences).map((name, at) => [compared[at].letter, name]));
  const running = new Set(compared.filter((run) => run.status === 'running').map((run) => run.letter));
  const keyed = (line) => (line.band.length ? line.label : `${line.letter}: ${names.get(line.letter) ?? line.label}${running.has(line.letter) ? ' (running)' : ''}`);
  const letters = compared.map((run) => run.letter);
  const differing = Object.entries(differences);
  const aside = Object.keys(incidental);
  render(html`<h1>Compare ${compared.length} runs</h1>${remark ? html`<p>${remark}</p>` : nothing}
    <div class="row filters"><label>Axis <select @change=${(event) => change({ axis: event.target.value })}>
        ${AXES.map(([name, label]) => html`<option value=${name} ?selected=${name === axis}>${label}</option>`)}</select></label>
      <label>Another metric <select @change=${(event) => change({ metric: event.target.value })}><option value="">none</option>
        ${metrics.map((name) => html`<option ?selected=${name === state.metric}>${name}</option>`)}</select></label></div>
    ${conclusions.map((line) => html`<p class="conclusion"><b>${line}</b></p>`)}
    ${seeds.map((group) => html`<p>${group.remark}</p>`)}
    <div id="charts" class="grid wide">${charts.map((chart) => html`<figure class="card chart"><figcaption><span><b>${chart.title}</b> <span class="soft small">${chart.note}</span></span></figcaption><div class="plot"></div>
      <ul class="keys small">${chart.lines.map((line, at) => html`<li><i class="dot c${at % 8}"></i>${keyed(line)}</li>`)}</ul></figure>`)}</div>
    <h2>Results</h2><div class="scroll" tabindex="0" role="region" aria-label="Results"><table id="results" class="compared"><thead><tr><td></td>${compared.map((run) => html`<th scope="col">${run.letter}
        <a href=${pages.run(run.id)} title=${run.id}>${names.get(run.letter)}</a></th>`)}</tr></thead>
      <tbody><tr><th scope="row">status</th>${compared.map((run) => html`<td>${run.status}</td>`)}</tr>
        ${results.map(([name, ...values]) => html`<tr><th scope="row">${name}</th>${values.map((value) => html`<td>${value}</td>`)}</tr>`)}
        <tr><th scope="row">id</th>${compared.map((run) => html`<td class="code soft id">${run.id}</td>`)}</tr></tbody></table></div>
    <h2>Settings that differ</h2>${differing.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Settings that differ"><table class="compared"><thead><tr><td></td>${letters.map((letter) => html`<th scope="col">${letter}</th>`)}</tr></thead>
      <tbody>${differing.map(([path, values]) => html`<tr><th scope="row" class="code">${path}</th>${values.map((value) => html`<td class="code">${JSON.stringify(value)}</td>`)}</tr>`)}</tbody></table></div>`
      : html`<p class="soft">None that changes results.</p>`}
    ${aside.length ? html`<p class="soft small">Without effect on results, they also differ in ${aside.join(', ')}.</p>` : nothing}
    ${problems.map((problem) => html`<p class="soft small">${problem}</p>`)}`, main);
  drawCharts(charts, axis);
}

/** New charts where their lines are others; else new data in those that are there. */
function drawCharts(charts, axis) {
  const shape = JSON.stringify([axis, charts.map((chart) => [chart.title, chart.level === null, chart.lines.map((line) => [line.label, line.band.length > 0])])]);
  if (shape !== state.shape) {
    state.charts.forEach((chart) => chart.destroy());
    const places = [...main.querySelectorAll('.plot')];
    places.forEach((place) => place.replaceChildren());
    state.charts = charts.map((chart, at) => build(chart, places[at], axis));
    state.shape = shape;
  }
  charts.forEach((chart, at) => state.charts[at].set(columns(chart)));
}

function build(chart, place, axis) {
  const series = chart.lines.map((line, at) => ({ label: line.letter, color: `c${at % 8}` }));
  const bands = [];
  chart.lines.forEach((line, at) => {
    if (!line.band.length) return;
    const first = series.length + 1;
    series.push(...['low', 'high'].map((end) => ({ label: `${line.letter} ${end}`, color: `c${at % 8}`, width: 0.5 })));
    bands.push({ series: [first + 1, first], fill: () => `${colour(`c${at % 8}`)}2e` });
  });
  if (chart.level !== null) series.push({ label: 'threshold', color: 'soft', dash: [5, 4], width: 1 });
  const inTime = axis === 'time';
  return lineChart(place, { series, bands, x: chart.x, formatX: inTime ? duration : undefined, legend: false, height: 280 });
}

function columns(chart) {
  const lines = chart.lines.map((line) => [line.points.map(([x]) => x), line.points.map(([, y]) => y)]);
  const bands = chart.lines.filter((line) => line.band.length).flatMap((line) => [1, 2].map((end) => [line.band.map(([x]) => x), line.band.map((point) => point[end])]));
  const aligned = align([...lines, ...bands]);
  return chart.level === null ? aligned : [...aligned, aligned[0].map(() => chart.level)];
}

look();
