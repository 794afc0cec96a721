// What can be pressed: the keys in the environment's words, keys on the screen, sliders, all choices.
import { html, nothing } from '../vendor/lit-html.js';
import { shownCode, shownKey } from './keys.js';

const MOST_SHOWN = 24;
const MOST_HINTS = 12;

const mine = (player) => player.state.mode === 'you' || player.state.takeover;

/** Keys and what they do, each to be replaced by another. */
export function keyList(player) {
  const { bindings } = player.ready.controls;
  const alone = new Set(bindings.filter(({ keys }) => keys.length === 1).map(({ keys }) => keys[0]));
  const telling = bindings.filter(({ keys }) => keys.length <= 1 || keys.some((key) => !alone.has(key)));
  const row = ({ keys, label }) => html`<tr><td>${keys.length
    ? keys.map((key) => html`<button type="button" class="key" title="Choose another key"
        aria-label=${`Key for ${label}: ${shownCode(player.keys.codeOf(key))}. Choose another one`}
        @click=${() => player.remap(key)}><kbd>${player.remapping === key
          ? 'press a key' : shownCode(player.keys.codeOf(key))}</kbd></button>`)
    : html`<span class="soft">nothing</span>`}</td><td>${label}</td></tr>`;
  const together = telling.length < bindings.length;
  return html`<section class="card"><h2 class="first">Keys</h2>
    ${telling.length ? html`<table class="keys"><tbody>${telling.slice(0, MOST_SHOWN).map(row)}</tbody></table>` : nothing}
    ${telling.length > MOST_SHOWN ? html`<details><summary>${telling.length - MOST_SHOWN} more</summary>
      <table class="keys"><tbody>${telling.slice(MOST_SHOWN).map(row)}</tbody></table></details>` : nothing}
    ${together ? html`<p class="soft small">Hold keys together for what they do together.</p>` : nothing}
    <p class="soft small"><kbd>Esc</kbd> pauses, <kbd>.</kbd> takes one step${player.ready.run && !player.keys.names.has('shift')
      ? html`, hold <kbd>Shift</kbd> to take over from the policy` : nothing}. ${player.padThere
      ? 'A gamepad is connected.' : 'A gamepad is found when one of its buttons is pressed.'}
    ${Object.keys(player.keys.own).length ? html`<button type="button" class="quiet small" @click=${() => {
      player.keys.forget(); player.draw(); player.refocus(); }}>Reset keys</button>` : nothing}</p></section>`;
}

/** The keys over the picture, until the first one is pressed. */
export function keyHints(player) {
  if (!player.ready || player.ended || player.input || !mine(player)) return nothing;
  const { bindings } = player.ready.controls;
  const single = bindings.filter(({ keys }) => keys.length === 1);
  const told = (single.length ? single : bindings.filter(({ keys }) => keys.length)).slice(0, MOST_HINTS);
  if (!told.length) return nothing;
  const more = bindings.filter(({ keys }) => keys.length === 1).length - told.length;
  return html`<div class="hints"><b>Keys</b><ul>${told.map(({ keys, label }) => html`<li>${keys.map((key) => html`<kbd>${shownCode(player.keys.codeOf(key))}</kbd>`)} ${label}</li>`)}</ul>
    ${more > 0 ? html`<p class="small">and ${more} more beside the picture</p>` : nothing}</div>`;
}

/** Buttons to hold, for pointers and fingers. */
export function screenKeys(player) {
  if (!mine(player)) return nothing;
  const names = [...player.keys.names];
  const arrows = ['up', 'left', 'down', 'right'].filter((name) => names.includes(name));
  const rest = names.filter((name) => !arrows.includes(name));
  const labels = Object.fromEntries(player.ready.controls.bindings
    .filter(({ keys }) => keys.length === 1).map(({ keys, label }) => [keys[0], label]));
  const key = (name) => html`<button type="button" class="hold ${name}" tabindex="-1" data-key=${name}
    aria-pressed=${player.keys.isDown(name)} aria-label=${`Hold ${labels[name] ?? name}`}
    @pointerdown=${(event) => hold(player, event, name)} @contextmenu=${(event) => event.preventDefault()}>
    ${shownKey(name)}${labels[name] && labels[name] !== name ? html`<small>${labels[name]}</small>` : nothing}</button>`;
  return html`<div class="screenkeys" role="group" aria-label="Keys on the screen">
    ${arrows.length ? html`<div class="cross ${names.includes('up') ? '' : 'flat'}">${arrows.map(key)}</div>` : nothing}
    ${rest.length ? html`<div class="others">${rest.map(key)}</div>` : nothing}</div>`;
}

/** Press while the pointer is down, wherever it goes up. */
function hold(player, event, name) {
  event.preventDefault();
  const where = `pointer ${event.pointerId}`;
  player.keys.press(name, where);
  const up = (other) => {
    if (other.pointerId !== event.pointerId) return;
    player.keys.release(name, where);
    removeEventListener('pointerup', up);
    removeEventListener('pointercancel', up);
  };
  addEventListener('pointerup', up);
  addEventListener('pointercancel', up);
}

/** Numbers of a Box action. */
export function sliders(player) {
  const { dimensions } = player.ready.controls;
  if (!dimensions || !mine(player)) return nothing;
  const name = (place) => player.ready.labels[place] ?? `number ${place}`;
  return html`<fieldset class="sliders"><legend>Actions</legend>
    ${dimensions.map(({ low, neutral, high }, place) => {
      const level = player.keys.levels[place] ?? neutral;
      return html`<label for=${`level${place}`}>${name(place)}</label>
        <input type="range" id=${`level${place}`} min=${low} max=${high} step="any" .value=${String(level)}
          @input=${(event) => { player.keys.setLevel(place, Number(event.target.value)); player.draw(); }}>
        <output for=${`level${place}`} class="number">${level.toFixed(2)}</output>`;
    })}
    <button type="button" @click=${() => { Object.keys(player.keys.levels).forEach((place) => player.keys.setLevel(place, null));
      player.draw(); }}>Let go</button></fieldset>`;
}

/** Every choice of a Discrete action as a button: also those without a key. */
export function choiceList(player) {
  const { kind, bindings } = player.ready.controls;
  const names = player.ready.labels;
  if (kind !== 'discrete' || !mine(player)) return nothing;
  const count = Math.max(names.length, player.facts.legal?.length ?? 0, ...bindings.map(({ value }) => value + 1));
  const legal = (choice) => !player.facts.legal || player.facts.legal[choice];
  return html`<section class="card"><details ?open=${!bindings.length}><summary>All actions</summary>
    <div class="row">${Array.from({ length: count }, (_, choice) => html`<button type="button" data-choice=${choice}
      ?disabled=${!legal(choice)} @pointerdown=${(event) => hold(player, event, `#${choice}`)}
      @keydown=${(event) => ['Enter', 'Space'].includes(event.code) && !event.repeat && player.keys.press(`#${choice}`, 'button')}
      @keyup=${() => player.keys.release(`#${choice}`, 'button')}
      @blur=${() => player.keys.release(`#${choice}`, 'button')}>${names[choice] ?? choice}</button>`)}</div></details></section>`;
}
