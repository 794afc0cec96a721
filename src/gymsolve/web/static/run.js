// One run: live curves, alerts, checkpoints, videos, logbook, and what can be done with it.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { Curves, RETURN, Tracks } from './curves.js';
import { actions, alerts, checkpoints, evaluations, events, facts, head, log, logbook, settings, tiles, videos } from './run_parts.js';
import { meant } from './names.js';
import { page, showError } from './shell.js';
import { SmallPlayer } from './small_player.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { count } from './words.js';

const id = named(location.pathname.slice(pages.run('').length));
const main = page(id);
const state = { id, run: null, news: null, diagnosis: null, tracks: new Tracks(), cursor: '', unknown: '', trying: new Map(), refresh };
const player = new SmallPlayer(id);
const MOST_CHARTS = 30;
let curves = null;
let shown = '';
let asked = 0;

/** The id in an address; the letters themselves where they stand for none. */
function named(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function open() {
  try {
    const first = get(api.follow(id, { names: RETURN.join('\n') }));
    first.catch(() => {}); // whoever waits for it below hears of it; nobody does where the next line fails
    state.run = await get(api.run(id));
    lay();
    take(await first);
    state.cursor = ''; // the other curves are still to come, from the beginning
    draw();
    poll();
  } catch (error) {
    showError(error);
    render(html`<h1>${id}</h1><p><a href=${pages.runs()}>All runs</a></p>`, main);
  }
}

/** The places of the page; what is in them is drawn by itself. */
function lay() {
  render(html`<div id="head"></div>
    <div class="split beside"><div id="player"></div>
      <section id="charts" aria-label="Curves"><div id="controls" class="row filters"></div><div id="curves" class="grid"></div></section>
      <section id="alerts" aria-label="Alerts"></section></div>
    <div id="rest"></div>`, main);
  curves = new Curves(main.querySelector('#curves'), { tracks: state.tracks, closer, onChange: () => { state.cursor = ''; look().catch(showError); } });
  curves.know(state.run.metrics, state.run.threshold, state.run.training_unit);
  player.show(main.querySelector('#player'), state.run);
}

function take(news) {
  state.news = news;
  state.cursor = news.cursor;
  state.tracks.add(news);
  if (news.fresh) curves.forget();
  if (news.fresh || Object.keys(news.series).length) curves.draw();
}

/** A part of the curves in more detail; null where the server does not give it. */
async function closer({ axis, from, to, names }) {
  try {
    return await get(api.closer(id, { axis, from, to, names: names.join('\n') }));
  } catch (error) {
    showError(error);
    return null;
  }
}

/** Ask for what is new; everything else only when its stamp says that it changed. */
async function look() {
  const mine = ++asked;
  const names = curves.wanted().join('\n');
  const news = await get(api.follow(id, { names, since: state.cursor }));
  if (mine !== asked) return; // other metrics were chosen meanwhile
  const ended = state.news && state.news.status !== news.status;
  take(news);
  const hasNames = state.run.metrics.length > 0 || !Object.keys(news.series).length;
  if (news.stamp !== state.run.stamp || ended || !hasNames) await refresh();
  else draw();
}

async function refresh() {
  state.run = await get(api.run(id));
  curves.know(state.run.metrics, state.run.threshold, state.run.training_unit);
  player.show(main.querySelector('#player'), state.run);
  draw();
}

async function poll() {
  let pause = state.news.status === 'running' ? 1000 : 4000;
  if (!document.hidden) {
    try {
      await look();
      showError(null);
      diagnose();
    } catch (error) {
      showError(error);
      if (error.status === 404) return; // it was deleted: what is drawn stays
      pause = 3000;
    }
  }
  setTimeout(poll, pause);
}

/** Alerts as `gymsolve diagnose` tells them, whenever the run's events say that they changed. */
async function diagnose() {
  const tried = state.run.events.filter((event) => event.kind === 'fix').length;
  const wanted = JSON.stringify([state.run.alerts, state.run.status, tried]);
  if (wanted === shown) return;
  shown = wanted;
  try {
    state.diagnosis = await get(api.alerts(id));
  } catch (error) {
    state.diagnosis = { roots: [], lint: [], problems: [error.text], checked: 0 };
  }
  draw();
}

function draw() {
  const { run } = state;
  const into = (name, template) => render(template, main.querySelector(name));
  into('#head', html`${head(state)}${actions(state)}${tiles(state)}`);
  into('#controls', controls());
  into('#alerts', alerts(state));
  into('#rest', html`<div class="pair"><section>${checkpoints(state)}</section><section>${evaluations(state)}</section></div>${videos(state)}${logbook(state)}${events(run)}${settings(run)}${facts(run)}${log(run)}
    ${run.problems.length ? html`<h2>Could not be read</h2>${run.problems.map((problem) => html`<p>${problem}</p>`)}` : nothing}`);
}

function controls() {
  const others = state.run.metrics.filter((metric) => !curves.names.includes(metric.name) && !RETURN.includes(metric.name));
  const add = ({ target }) => {
    const text = target.value.trim();
    const name = text && meant(text, others.map((metric) => metric.name));
    if (name) {
      target.value = '';
      curves.choose([...curves.names, name]);
    }
    state.unknown = name === null ? text : '';
    draw();
  };
  return html`<label>Axis <select @change=${(event) => curves.set({ axis: event.target.value })}>
      <option value="steps">steps</option><option value="seconds">time</option></select></label>
    <label>Smoothing <input type="range" min="0" max="0.99" step="0.01" .value=${String(curves.smoothing)}
      @input=${(event) => curves.set({ smoothing: Number(event.target.value) })}></label>
    <label>Add a chart <input type="search" list="metrics" placeholder="search ${count(others.length)} metrics" autocomplete="off" spellcheck="false"
      ?disabled=${curves.names.length >= MOST_CHARTS} @change=${add}></label>
    <datalist id="metrics">${others.map((metric) => html`<option value=${metric.name}>${metric.title}</option>`)}</datalist>
    ${state.unknown ? html`<span class="calm" role="status">No metric, or more than one, is called '${state.unknown}'.</span>` : nothing}`;
}

open();
