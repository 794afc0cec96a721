// The table of runs: filter, sort, choose some to compare, start one.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { askForRun, commandLine } from './ask.js';
import { capital, page, showError } from './shell.js';
import { sparkline } from './sparkline.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { age, clock, count, ended, number, SEVERITIES, TONES } from './words.js';

const PAGE = 50;
const COLUMNS = [['name', 'Run'], ['status', 'Status'], ['steps', 'Steps'], [null, 'Return'], ['best', 'Best evaluation'], [null, 'Alerts'], ['created', 'Started'], [null, 'Look']];
const main = page('Runs');
const given = new URLSearchParams(location.search);
const state = {
  query: given.get('query') ?? '', sort: given.get('sort') ?? 'created', order: given.get('order') ?? 'down',
  offset: Number(given.get('offset') ?? 0) || 0, trials: given.get('trials') === '1', chosen: new Set(), answer: null, fault: null,
};
let asked = 0;
let timer = 0;
let typing = 0;

async function look() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const { query, sort, order, offset, trials } = state;
    const answer = await get(api.runs({ query, sort, order, offset, limit: PAGE, trials: trials ? '1' : '' }));
    if (mine !== asked) return;
    Object.assign(state, { answer, fault: null });
    showError(null);
  } catch (error) {
    if (mine !== asked) return;
    if (error.status === 400 && state.answer) state.fault = error; // a filter that is still being written
    else showError(error);
  }
  draw();
  timer = setTimeout(again, state.answer?.running ? 2000 : 5000);
}

function again() {
  if (document.hidden) timer = setTimeout(again, 1000);
  else look();
}

function change(changes) {
  Object.assign(state, { offset: 0 }, changes);
  const kept = Object.entries({ query: state.query, sort: state.sort === 'created' ? '' : state.sort,
    order: state.order === 'down' ? '' : state.order, offset: state.offset || '', trials: state.trials ? '1' : '' });
  history.replaceState(null, '', pages.runs(Object.fromEntries(kept.filter(([, value]) => value !== ''))));
  draw();
  look();
}

/** Wait for the next letter before asking. */
function type(query) {
  clearTimeout(typing);
  typing = setTimeout(() => change({ query }), 200);
}

function draw() {
  render(view(), main);
}

function view() {
  const { answer } = state;
  if (!answer) return html`<h1>Runs</h1><p class="soft">Loading …</p>`;
  const nobody = answer.total === 0 && !state.query && !state.trials;
  return html`<div class="row spread"><h1>Runs</h1><div class="row">
      <button type="button" ?disabled=${state.chosen.size < 2} @click=${compare}>Compare${state.chosen.size ? ` ${state.chosen.size}` : ''}</button>
      ${answer.read_only ? html`<span class="soft">read only</span>`
        : html`<button type="button" class="main" @click=${start}>Start a run</button>`}</div></div>
    ${nobody ? nothingYet(answer) : html`${controls(answer)}${answer.rows.length ? table(answer) : html`<p>No run fits these words.</p>`}${paging(answer)}`}`;
}

function nothingYet(answer) {
  return html`<div class="card"><p>There are no runs in <code>${answer.folder}</code> yet.</p>
    <p>${answer.read_only ? 'Start one in a terminal:' : 'Start one with the button above, or in a terminal:'}</p>
    ${commandLine('gymsolve train CartPole-v1')}</div>`;
}

function controls(answer) {
  return html`<div class="row filters">
    <label>Filter <input type="search" .value=${state.query} placeholder="words, status:running, env:CartPole"
      @input=${(event) => type(event.target.value)}></label>
    <label><input type="checkbox" .checked=${state.trials} @change=${(event) => change({ trials: event.target.checked })}> with trials</label>
    <span class="soft">${count(answer.total)} ${answer.total === 1 ? 'run' : 'runs'}${answer.running ? `, ${answer.running} running` : ''}</span>
    ${state.fault ? html`<span class="calm" role="status">${capital(state.fault.text)} ${state.fault.hint ?? ''}</span>` : nothing}</div>`;
}

function table(answer) {
  const sound = answer.rows.filter((run) => run.status !== 'damaged');
  const whole = sound.length > 0 && sound.every((run) => state.chosen.has(run.id));
  const chooseAll = (event) => {
    sound.forEach((run) => state.chosen[event.target.checked ? 'add' : 'delete'](run.id));
    draw();
  };
  return html`<table class="runs"><thead><tr><th><input type="checkbox" aria-label="Choose all that are shown" .checked=${whole} @change=${chooseAll}></th>${COLUMNS.map(heading)}</tr></thead>
    <tbody>${answer.rows.map(row)}</tbody></table>`;
}

function heading([key, label]) {
  if (!key) return html`<th scope="col">${label}</th>`;
  const here = state.sort === key;
  const order = here && state.order === 'down' ? 'up' : 'down';
  const arrow = here ? (state.order === 'down' ? ' ↓' : ' ↑') : '';
  return html`<th scope="col" aria-sort=${here ? (state.order === 'down' ? 'descending' : 'ascending') : nothing}>
    <button type="button" class="quiet" @click=${() => change({ sort: key, order })}>${label}${arrow}</button></th>`;
}

function row(run) {
  const damaged = run.status === 'damaged';
  const choose = (event) => {
    state.chosen[event.target.checked ? 'add' : 'delete'](run.id);
    draw();
  };
  const facts = [run.name.includes(run.algo) ? '' : run.algo, run.seed === null ? '' : `seed ${run.seed}`, run.group ? `group ${run.group}` : '', run.parent ? `from ${run.parent.run}` : '',
    run.host && run.host !== state.answer.machine ? `on ${run.host}` : '', run.name ? run.id : ''];
  if (damaged) return damage(run);
  return html`<tr class=${run.status}>
    <td><input type="checkbox" aria-label="Choose ${run.id}" .checked=${state.chosen.has(run.id)} @change=${choose}></td>
    <td class="who"><a href=${pages.run(run.id)}>${run.name || run.id}</a>
      <div class="soft small facts">${facts.filter(Boolean).map((fact) => html`<span>${fact}</span> `)}</div></td>
    <td><span class="badge ${TONES[run.status]}">${run.status}</span>
      ${run.reason && run.reason !== run.status ? html`<div class="soft small reason ${run.reason.length < 24 ? 'nowrap' : ''}">${ended(run.reason)}</div>` : nothing}</td>
    <td><span class="nowrap">${count(run.env_steps)}</span>
      <progress class=${run.solved ? 'solved' : ''} max="1" value=${run.progress ?? 0} aria-label="Progress of ${run.id}"></progress></td>
    <td>${sparkline(run.curve, run.threshold, `Return of ${run.id}`)}
      ${run.curve_of && run.curve_of !== 'training episodes' ? html`<div class="soft small">${run.curve_of}</div>` : nothing}</td>
    <td><span class="nowrap ${run.solved ? 'good' : ''}">${number(run.best_reward)}</span>
      ${run.threshold === null ? nothing : html`<div class="soft small nowrap">of ${number(run.threshold)}</div>`}</td>
    <td>${run.alerts.map((alert) => html`<div class="small ${SEVERITIES[alert.severity]}">${alert.title}</div>`)}</td>
    <td class="nowrap soft" title=${run.created ? clock(run.created) : ''}>${age(run.created)}${run.created && age(run.created) !== 'now' ? ' ago' : ''}</td>
    <td class="nowrap">${run.best_reward === null ? nothing : links(run)}</td></tr>`;
}

/** The way to what most people come for, of a run that has a checkpoint. */
function links(run) {
  const where = { run: run.id };
  return html`<a href=${pages.play(where)} aria-label="Watch ${run.id} play">watch</a> · <a href=${pages.inspect(where)} aria-label="Inspect ${run.id}">inspect</a>`;
}

/** A run that cannot be read has a sentence in place of numbers. */
function damage(run) {
  return html`<tr class="damaged"><td><input type="checkbox" aria-label="Choose ${run.id}" disabled></td>
    <td class="who"><a href=${pages.run(run.id)}>${run.id}</a></td>
    <td colspan="7"><span class="badge bad">damaged</span> <span class="soft small reason">${run.reason}</span></td></tr>`;
}

function paging(answer) {
  const { offset } = state;
  if (answer.total <= PAGE) return nothing;
  return html`<div class="row paging"><button type="button" ?disabled=${offset === 0} @click=${() => change({ offset: Math.max(0, offset - PAGE) })}>Back</button>
    <span class="soft">${count(offset + 1)} to ${count(Math.min(answer.total, offset + PAGE))} of ${count(answer.total)}</span>
    <button type="button" ?disabled=${offset + PAGE >= answer.total} @click=${() => change({ offset: offset + PAGE })}>Next</button></div>`;
}

function compare() {
  location.href = pages.compare({ runs: [...state.chosen].join(',') });
}

async function start() {
  try {
    const begun = await askForRun({
      title: 'Start a run', verb: 'Start', path: api.runs(), fields: ['env', 'steps', 'seed', 'seeds', 'set'],
    });
    if (!begun) return;
    const group = begun.run.startsWith('group:'); // several seeds: the table shows how they come in
    location.href = group ? pages.runs({ query: begun.run }) : pages.run(begun.run);
  } catch (error) {
    showError(error);
  }
}

look();
