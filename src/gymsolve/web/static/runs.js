// The table of runs: filter, sort, choose some to compare, start one.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { askForRun, commandLine } from './ask.js';
import { capital, page, showError } from './shell.js';
import { sparkline } from './sparkline.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { age, clock, count, ended, number, SEVERITIES, TONES } from './words.js';

const PAGE = 50;
const COLUMNS = [['name', 'Run'], ['status', 'Status'], ['steps', 'Steps'], [null, 'Training return'], ['best', 'Best evaluation'], [null, 'Alerts'], ['created', 'Started'], [null, 'Look']];
const main = page('Runs');
const given = new URLSearchParams(location.search);
const state = {
  query: given.get('query') ?? '', sort: given.get('sort') ?? 'created', order: given.get('order') ?? 'down',
  offset: Number(given.get('offset') ?? 0) || 0, trials: given.get('trials') === '1', chosen: new Set(), found: null, fault: null,
};
let asked = 0;
let timer = 0;
let typing = 0;

async function look() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const { query, sort, order, offset, trials } = state;
    const found = await get(api.runs({ query, sort, order, offset, limit: PAGE, trials: trials ? '1' : '' }));
    if (mine !== asked) return;
    Object.assign(state, { found, fault: null });
    showError(null);
  } catch (error) {
    if (mine !== asked) return;
    if (error.status === 400 && state.found) state.fault = error; // a filter that is still being written
    else showError(error);
  }
  draw();
  timer = setTimeout(again, state.found?.running ? 2000 : 5000);
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
  const { found } = state;
  if (!found) return html`<h1>Runs</h1><p class="soft">Loading …</p>`;
  const nobody = found.total === 0 && !state.query && !state.trials;
  return html`<div class="row spread"><h1>Runs</h1><div class="row">
      <button type="button" ?disabled=${state.chosen.size < 2} @click=${compare}>Compare${state.chosen.size ? ` ${state.chosen.size}` : ''}</button>
      ${found.read_only ? html`<span class="soft">read only</span>`
        : html`<button type="button" class="main" @click=${start}>Start a run</button>`}</div></div>
    ${nobody ? nothingYet(found) : html`${controls(found)}${found.rows.length ? table(found) : html`<p>No run fits these words.</p>`}${paging(found)}`}`;
}

function nothingYet(found) {
  return html`<div class="card"><p>There are no runs in <code>${found.folder}</code> yet.</p>
    <p>${found.read_only ? 'Start one in a terminal:' : 'Start one with the button above, or in a terminal:'}</p>
    ${commandLine('gymsolve train CartPole-v1')}</div>`;
}

function controls(found) {
  return html`<div class="row filters">
    <label>Filter <input type="search" .value=${state.query} placeholder="words, status:running, env:CartPole"
      @input=${(event) => type(event.target.value)}></label>
    <label><input type="checkbox" .checked=${state.trials} @change=${(event) => change({ trials: event.target.checked })}> with trials</label>
    <span class="soft">${count(found.total)} ${found.total === 1 ? 'run' : 'runs'}${found.running ? `, ${found.running} running` : ''}</span>
    ${state.fault ? html`<span class="calm" role="status">${capital(state.fault.text)} ${state.fault.hint ?? ''}</span>` : nothing}</div>`;
}

function table(found) {
  const sound = found.rows.filter((one) => one.status !== 'damaged');
  const whole = sound.length > 0 && sound.every((one) => state.chosen.has(one.id));
  const chooseAll = (event) => {
    sound.forEach((one) => state.chosen[event.target.checked ? 'add' : 'delete'](one.id));
    draw();
  };
  return html`<table class="runs"><thead><tr><th><input type="checkbox" aria-label="Choose all that are shown" .checked=${whole} @change=${chooseAll}></th>${COLUMNS.map(heading)}</tr></thead>
    <tbody>${found.rows.map(row)}</tbody></table>`;
}

function heading([key, label]) {
  if (!key) return html`<th scope="col">${label}</th>`;
  const here = state.sort === key;
  const order = here && state.order === 'down' ? 'up' : 'down';
  const arrow = here ? (state.order === 'down' ? ' ↓' : ' ↑') : '';
  return html`<th scope="col" aria-sort=${here ? (state.order === 'down' ? 'descending' : 'ascending') : nothing}>
    <button type="button" class="quiet" @click=${() => change({ sort: key, order })}>${label}${arrow}</button></th>`;
}

function row(one) {
  const damaged = one.status === 'damaged';
  const choose = (event) => {
    state.chosen[event.target.checked ? 'add' : 'delete'](one.id);
    draw();
  };
  const facts = [one.name.includes(one.algo) ? '' : one.algo, one.seed === null ? '' : `seed ${one.seed}`, one.group ? `group ${one.group}` : '', one.parent ? `from ${one.parent.run}` : '',
    one.host && one.host !== state.found.machine ? `on ${one.host}` : '', one.name ? one.id : ''];
  if (damaged) return damage(one);
  return html`<tr class=${one.status}>
    <td><input type="checkbox" aria-label="Choose ${one.id}" .checked=${state.chosen.has(one.id)} @change=${choose}></td>
    <td class="who"><a href=${pages.run(one.id)}>${one.name || one.id}</a>
      <div class="soft small facts">${facts.filter(Boolean).map((fact) => html`<span>${fact}</span> `)}</div></td>
    <td><span class="badge ${TONES[one.status]}">${one.status}</span>
      ${one.reason && one.reason !== one.status ? html`<div class="soft small reason ${one.reason.length < 24 ? 'nowrap' : ''}">${ended(one.reason)}</div>` : nothing}</td>
    <td><span class="nowrap">${count(one.env_steps)}</span>
      <progress class=${one.solved ? 'solved' : ''} max="1" value=${one.progress ?? 0} aria-label="Progress of ${one.id}"></progress></td>
    <td>${sparkline(one.curve, one.threshold, `Return of ${one.id}`)}</td>
    <td><span class="nowrap ${one.solved ? 'good' : ''}">${number(one.best_reward)}</span>
      ${one.threshold === null ? nothing : html`<div class="soft small nowrap">of ${number(one.threshold)}</div>`}</td>
    <td>${one.alerts.map((alert) => html`<div class="small ${SEVERITIES[alert.severity]}">${alert.title}</div>`)}</td>
    <td class="nowrap soft" title=${one.created ? clock(one.created) : ''}>${age(one.created)}${one.created && age(one.created) !== 'now' ? ' ago' : ''}</td>
    <td class="nowrap">${one.best_reward === null ? nothing : links(one)}</td></tr>`;
}

/** The way to what most people come for, of a run that has a checkpoint. */
function links(one) {
  const where = { run: one.id };
  return html`<a href=${pages.play(where)} aria-label="Watch ${one.id} play">watch</a> · <a href=${pages.inspect(where)} aria-label="Inspect ${one.id}">inspect</a>`;
}

/** A run that cannot be read has a sentence in place of numbers. */
function damage(one) {
  return html`<tr class="damaged"><td><input type="checkbox" aria-label="Choose ${one.id}" disabled></td>
    <td class="who"><a href=${pages.run(one.id)}>${one.id}</a></td>
    <td colspan="7"><span class="badge bad">damaged</span> <span class="soft small reason">${one.reason}</span></td></tr>`;
}

function paging(found) {
  const { offset } = state;
  if (found.total <= PAGE) return nothing;
  return html`<div class="row paging"><button type="button" ?disabled=${offset === 0} @click=${() => change({ offset: Math.max(0, offset - PAGE) })}>Back</button>
    <span class="soft">${count(offset + 1)} to ${count(Math.min(found.total, offset + PAGE))} of ${count(found.total)}</span>
    <button type="button" ?disabled=${offset + PAGE >= found.total} @click=${() => change({ offset: offset + PAGE })}>Next</button></div>`;
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
