// The first page of `play`: environments with pictures, by family, and the newest runs; one search for all.
import { api, pages } from '../addresses.js';
import { get } from '../api.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { count, TONES } from '../words.js';

const MOST_RUNS = 6;

export async function offer(main) {
  const { environments, runs } = await get(api.choices());
  const state = { text: new URLSearchParams(location.search).get('search') ?? '', all: false };
  const draw = () => render(view(environments, runs, state, draw), main);
  draw();
  if (matchMedia('(pointer: fine)').matches) main.querySelector('input[type=search]').focus({ preventScroll: true }); // a phone would open its keyboard
}

function view(environments, runs, state, draw) {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (...texts) => words.every((word) => texts.join('\n').toLowerCase().includes(word));
  const games = environments.filter((env) => fits(env.id, env.about, env.family, ...env.names));
  const played = runs.filter((run) => fits(run.id, run.env_id, run.label, run.status, ...run.tags));
  const search = (event) => {
    state.text = event.target.value;
    history.replaceState(null, '', pages.play(state.text ? { search: state.text } : undefined));
    draw();
  };
  const go = (event) => { // Enter opens the first one that is shown, or else what was typed
    event.preventDefault();
    const text = state.text.trim();
    if (!text) return;
    const first = event.target.closest('main').querySelector('a.choice');
    location.href = first ? first.href : pages.play({ env: text });
  };
  const typed = state.text.trim();
  const nothingFits = typed && !games.length && !played.length;
  return html`<h1>Play</h1>
    <p class="soft">Play an environment yourself, or watch the policy of a run and take over from it.</p>
    <form class="row filters" role="search" @submit=${go}><label>Search <input type="search" .value=${state.text} placeholder="a name, a family, a run, any Gymnasium id" autocomplete="off" spellcheck="false" @input=${search}></label>
      <span class="soft" role="status">${count(games.length)} ${games.length === 1 ? 'environment' : 'environments'}, ${count(played.length)} ${played.length === 1 ? 'run' : 'runs'}</span></form>
    ${nothingFits ? html`<p>Nothing here is called so. <a class="button main" href=${pages.play({ env: typed })}>Play ${typed}</a>
      <a class="button" href=${pages.play({ run: typed })}>Watch the run ${typed}</a></p>` : nothing}
    ${runsShown(played, state, draw)}
    ${families(games).map(([family, members]) => html`<section><h2>${family}</h2><ul class="choices">${members.map(gameCard)}</ul></section>`)}
    ${runs.length ? nothing : html`<p class="soft small">No run here yet: <code>gymsolve train CartPole-v1</code> makes one to watch.</p>`}`;
}

function runsShown(runs, state, draw) {
  if (!runs.length) return nothing;
  const shown = state.all ? runs : runs.slice(0, MOST_RUNS);
  const rest = runs.length - shown.length;
  return html`<section><h2>Runs to watch</h2><ul class="choices">${shown.map(runCard)}</ul>
    ${rest > 0 ? html`<button type="button" class="quiet" @click=${() => { state.all = true; draw(); }}>Show ${count(rest)} more</button>` : nothing}</section>`;
}

/** Environments by family, in the order in which families first come. */
function families(games) {
  const groups = new Map();
  for (const game of games) groups.set(game.family, [...(groups.get(game.family) ?? []), game]);
  return [...groups].sort(([one], [other]) => one.localeCompare(other));
}

function gameCard(game) {
  return html`<li><a class="choice" href=${pages.play({ env: game.id })}>${picture(game.picture, game.id)}
    <b>${game.id}</b><span class="soft small">${game.about}</span></a></li>`;
}

function runCard(run) {
  return html`<li><a class="choice" href=${pages.play({ run: run.id })}>${picture(run.picture, run.env_id)}
    <b>${run.label || run.env_id} <span class="badge ${TONES[run.status]}">${run.status}</span></b><span class="soft small">${run.id}</span></a></li>`;
}

/** A picture, or the letters of a name where there is none. */
function picture(file, name) {
  if (!file) return html`<span class="picture" aria-hidden="true">${name.replace(/^.*\//, '').replace(/-v\d+$/, '').slice(0, 2)}</span>`;
  return html`<img class="picture" src=${new URL(`../environments/${file}`, import.meta.url)} alt="" width="240" height="160" loading="lazy">`;
}
