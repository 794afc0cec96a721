// The page `play`: choose what to play, or play it.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { addStyle, mount } from './play/player.js';
import { page, showError } from './shell.js';
import { html, render } from './vendor/lit-html.js';

const asked = Object.fromEntries(new URLSearchParams(location.search));
const main = page(asked.env || asked.run || 'Play');

addStyle();
if (asked.env || asked.run) mount(main, requested(asked));
else offer().catch(showError);

/** What the address asks for, as a session takes it. */
function requested({ env, run, checkpoint, mode, seed, episodes, against, ...rest }) {
  const on = (name) => rest[name] === '1' || rest[name] === 'true';
  return {
    env, run, checkpoint, mode, seed, episodes, against,
    ...('sampled' in rest ? { sampled: on('sampled') } : {}), follow: on('follow'), record: on('record'), paused: on('paused'),
  };
}

async function offer() {
  const { environments, runs } = await get(api.choices());
  const go = (name) => (event) => {
    event.preventDefault();
    const value = new FormData(event.target).get('what').trim();
    if (value) location.href = pages.play({ [name]: value });
  };
  const link = (name, value, text = value, more = '') =>
    html`<li><a href=${pages.play({ [name]: value })}>${text}</a> <span class="soft small">${more}</span></li>`;
  render(html`<h1>Play</h1>
    <p class="soft">Play an environment yourself, or watch the policy of a run and take over from it.</p>
    <div class="offer">
      <section class="card"><h2 class="first">Environments</h2>
        <form class="row" @submit=${go('env')}>
          <label for="env">Any environment</label>
          <input id="env" name="what" placeholder="CartPole-v1" autocomplete="off" spellcheck="false">
          <button class="main">Play</button></form>
        <p class="soft small">Those with a recipe:</p>
        <ul class="choices">${environments.map(({ id }) => link('env', id))}</ul></section>
      <section class="card"><h2 class="first">Runs</h2>
        <form class="row" @submit=${go('run')}>
          <label for="run">Any run</label>
          <input id="run" name="what" placeholder="@last" autocomplete="off" spellcheck="false">
          <button class="main">Watch</button></form>
        ${runs.length ? html`<p class="soft small">The newest:</p>
          <ul class="choices">${runs.map(({ id, status }) => link('run', id, id, status))}</ul>`
          : html`<p class="soft small">No run here yet: <code>gymsolve train CartPole-v1</code> makes one.</p>`}
      </section></div>`, main);
}
