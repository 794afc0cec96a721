// What can be set while something is played: who acts, time, episodes, seed, recording.
import { html, nothing } from '../vendor/lit-html.js';

const MODES = { you: 'You', policy: 'Policy', untrained: 'Untrained', random: 'Random' };
const SPEEDS = [[0.25, '¼ ×'], [0.5, '½ ×'], [1, '1 ×'], [2, '2 ×'], [4, '4 ×'], [0, 'as fast as it goes']];

/** After a click, the keyboard belongs to the environment again; who tabs keeps the focus. */
const byPointer = (player, event) => {
  if (event.detail > 0) player.element.querySelector('.stage').focus({ preventScroll: true });
};

export function settings(player) {
  const { state, ready } = player;
  const act = (call) => (event) => { call(); player.draw(); byPointer(player, event); };
  const mode = (name) => html`<button type="button" data-mode=${name} aria-pressed=${state.mode === name}
    @click=${act(() => player.send('mode', { mode: name, sampled: state.sampled }))}>${MODES[name]}</button>`;
  return html`<section class="card settings">
    <div class="row" role="group" aria-label="Who acts">${(state.modes ?? []).map(mode)}
      ${state.mode === 'you' ? nothing : html`<button type="button" class="main" data-do="takeover" aria-pressed=${state.takeover}
        @click=${act(() => player.takeOver(!state.takeover))}>${state.takeover ? 'Hand back' : 'Take over'}</button>`}</div>
    ${ready.run ? policySettings(player, act) : nothing}
    <div class="row">
      <button type="button" data-do="pause" aria-pressed=${state.paused}
        @click=${act(() => player.send('pause', { on: state.paused = !state.paused }))}>${state.paused ? 'Go on' : 'Pause'}</button>
      <button type="button" data-do="step" @click=${act(() => player.send('step'))}>Step</button>
      ${ready.turns && state.mode === 'you' ? nothing : html`<label>Speed <select data-do="speed"
        @change=${(event) => player.send('speed', { factor: Number(event.target.value) })}>
        ${SPEEDS.map(([factor, name]) => html`<option value=${factor} ?selected=${factor === (state.speed ?? 1)}>${name}</option>`)}
        </select></label>`}</div>
    <form class="row" @submit=${(event) => restart(player, event)}>
      <button data-do="reset">Reset</button>
      <label>Seed <input class="short" name="seed" inputmode="numeric" pattern="[0-9]*" autocomplete="off"
        placeholder=${state.seed ?? ''}></label></form>
    <form class="row" @submit=${(event) => count(player, event)}>
      <label>Episodes <input class="short" name="episodes" inputmode="numeric" pattern="[0-9]*" autocomplete="off"
        placeholder=${state.asked ?? 'no limit'}></label><button data-do="episodes">Stop after so many</button></form>
    <label class="check"><input type="checkbox" data-do="record" .checked=${!!state.record}
      @change=${(event) => player.send('record', { on: event.target.checked })}>
      Record what you play, from the next episode on</label></section>`;
}

function policySettings(player, act) {
  const { state } = player;
  return html`<div class="row">
    <label>Checkpoint <select data-do="checkpoint" ?disabled=${state.follow}
      @change=${(event) => player.send('checkpoint', { name: event.target.value })}>
      ${(state.checkpoints ?? []).map((name) => html`<option ?selected=${name === state.checkpoint}>${name}</option>`)}
      </select></label>
    <button type="button" data-do="sampled" aria-pressed=${state.sampled}
      @click=${act(() => player.send('mode', { mode: state.mode, sampled: !state.sampled }))}>Sample actions</button>
    <label class="check"><input type="checkbox" data-do="follow" .checked=${!!state.follow}
      @change=${(event) => player.send('follow', { on: event.target.checked })}> Follow the newest</label></div>`;
}

function restart(player, event) {
  event.preventDefault();
  const seed = new FormData(event.target).get('seed').trim();
  player.send('reset', seed ? { seed: Number(seed) } : {});
  player.element.querySelector('.stage').focus({ preventScroll: true });
}

function count(player, event) {
  event.preventDefault();
  const asked = Number(new FormData(event.target).get('episodes'));
  player.send('episodes', { count: asked || null });
  player.element.querySelector('.stage').focus({ preventScroll: true });
}
