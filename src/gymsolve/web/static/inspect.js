// The inspector: one episode, one cursor (the number of a state), and panels that show what was there.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { Desk } from './inspect/desk.js';
import { Episode } from './inspect/episode.js';
import { PANELS } from './inspect/panels.js';
import { picker } from './inspect/picker.js';
import { offer, summarize } from './inspect/summary.js';
import { page, showError } from './shell.js';
import { html, render } from './vendor/lit-html.js';

const main = page('Inspect');
const query = new URLSearchParams(location.search);

/** What panels see of the page. */
const view = {
  run: null,
  episode: null,
  state: 0,
  desk: null,
  playing: false,
  goto,
  open,
  reload,
  inspect,
  regrow: () => grow(),
  fail: (error) => showError(error),
};
let panels = [];
let due = 0;
let valued = 0;

render(html`<div id="summary"></div><div id="picker"></div><p id="progress" class="soft small" role="status"></p><div id="panels" class="inspector"></div>`, main);
const summary = document.getElementById('summary');
const progress = document.getElementById('progress');
const choose = picker(document.getElementById('picker'), view);

start().catch(view.fail);

async function start() {
  const { runs } = await get(api.inspectable());
  choose.runs(runs, query);
  const run = query.get('run');
  summarize(summary, view);
  if (!run) {
    offer(document.getElementById('panels'), runs);
    return;
  }
  await openRun(run);
  const stored = query.get('episode');
  const known = view.run.episodes.find((episode) => episode.name === stored && episode.state !== 'playing');
  if (known) await open(known.name, Number(query.get('step') ?? 0));
  else await inspect(choose.wish(), Number(query.get('step') ?? 0));
}

async function openRun(run) {
  view.desk?.close();
  view.run = await get(api.inspect(run));
  view.desk = new Desk(run, view.fail);
  choose.run(view.run, query);
  summarize(summary, view);
}

/** Play what the picker asks for, or find it; the page follows as it grows. */
async function inspect(wish, step = 0) {
  showError(null);
  if (wish.run !== view.run?.run) await openRun(wish.run);
  const stored = wish.count === 1 ? find(wish) : null;
  if (stored) {
    await open(stored.name, step);
    return;
  }
  choose.busy(true);
  try {
    const seen = { name: null };
    let heard = Promise.resolve();  // one message after the other: the end must not overtake the start
    await view.desk.ask('episodes', wish, (news) => {
      heard = heard.then(() => hear(news, step, seen)).catch(view.fail);
    });
    await heard;
  } catch (error) {
    view.fail(error);
  } finally {
    choose.busy(false);
    progress.textContent = '';
    await reload();
  }
}

/** The episode that was played before with these weights, this seed and this way to choose actions. */
function find(wish) {
  const weights = view.run.checkpoints.find((checkpoint) => checkpoint.name === wish.checkpoint)?.policy_sha256;
  return view.run.episodes.find((episode) => episode.state === 'whole' && episode.policy_sha256 === weights && episode.seed === wish.seed
    && episode.deterministic === !wish.sampled && episode.role === wish.role && episode.task === wish.task && !episode.parent && episode.end !== 'cut');
}

/** Follow the first of the episodes that were asked for; of the others the list tells. */
async function hear(news, step, seen) {
  if (news.type === 'paused' || news.type === 'continued') {
    choose.paused(news.type === 'paused');
    return;
  }
  const name = news.name ?? news.episode.name;
  const first = seen.name ?? name;
  if (news.type === 'states') progress.textContent = `Playing seed ${news.seed}: ${news.states} states so far …`;
  if (seen.name === null) {
    seen.name = name;
    await open(name, step);
  } else if (name !== first) {
    if (news.type === 'episode') await reload();
  } else if (view.episode?.name === name) {
    if (news.type === 'states') await view.episode.extend(news.states);
    else {
      await view.episode.refresh();
      await view.episode.value();
    }
    grow();
  }
}

/** Show a stored episode. */
async function open(name, step = 0) {
  const episode = await Episode.open(view.run.run, name);
  await episode.value();
  view.episode?.close();
  view.episode = episode;
  view.state = Math.min(Math.max(0, step), Math.max(0, episode.states - 1));
  build();
}

/** The list of episodes again. */
async function reload() {
  if (!view.run) return;
  view.run = await get(api.inspect(view.run.run));
  panels.forEach((panel) => panel.grow?.());
}

function build() {
  panels.forEach((panel) => panel.close?.());
  const place = document.getElementById('panels');
  const sides = Object.fromEntries(['left', 'right', 'below'].map((name) => {
    const side = document.createElement('div');
    side.className = name === 'below' ? name : `side ${name}`;
    return [name, side];
  }));
  place.replaceChildren(...Object.values(sides));
  panels = PANELS.filter((panel) => panel.when?.(view) ?? true).map((panel) => {
    const section = document.createElement('section');
    section.className = `card panel-${panel.id}${panel.half ? ' half' : ''}`;
    section.setAttribute('aria-label', panel.title);
    const title = document.createElement('h2');
    title.textContent = panel.title;
    const body = document.createElement('div');
    section.append(title, body);
    sides[panel.wide || panel.half ? 'below' : panel.side ?? 'right'].append(section);
    return panel.make(body, view);
  });
  panels.forEach((panel) => panel.grow?.());
  summarize(summary, view);
  show();
}

function grow() {
  summarize(summary, view);
  panels.forEach((panel) => panel.grow?.());
  show();
  if (view.episode.facts.state !== 'playing' || Date.now() - valued < 700) return;
  valued = Date.now();
  const episode = view.episode;
  episode.value().then(() => {
    if (episode === view.episode) panels.forEach((panel) => panel.grow?.());
  }).catch(() => {});
}

/** Move the cursor. */
function goto(state) {
  if (!view.episode) return;
  view.state = Math.min(Math.max(0, Math.round(state)), Math.max(0, view.episode.states - 1));
  show();
}

function show() {
  if (due) return;
  due = requestAnimationFrame(() => {
    due = 0;
    panels.forEach((panel) => panel.show(view.state));
    document.documentElement.dataset.state = view.state;
    remember();
  });
}

let remembering = 0;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const { facts, name, run } = view.episode;
    const sampled = Number(!facts.deterministic);
    const place = { run, checkpoint: facts.checkpoint, seed: facts.seed, episode: name, step: view.state, sampled };
    if (facts.task) place.task = facts.task;
    history.replaceState(null, '', pages.inspect(place));
  }, 250);
}

const MOVES = {
  ArrowLeft: (big) => view.state - (big ? 10 : 1),
  ArrowRight: (big) => view.state + (big ? 10 : 1),
  PageUp: () => view.state - 100,
  PageDown: () => view.state + 100,
  Home: () => 0,
  End: () => view.episode.states - 1,
};

document.addEventListener('keydown', (event) => {
  if (!view.episode || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, select, textarea, [role="grid"], [role="region"], dialog')) return; // which use these keys themselves
  if (event.key === ' ' && event.target.closest('button, a, summary')) return; // a click on it
  if (event.key === ' ') panels.forEach((panel) => panel.toggle?.());
  else if (event.key in MOVES) goto(MOVES[event.key](event.shiftKey));
  else return;
  event.preventDefault();
});
