// One session of play in an element: picture, keys, numbers, and what can be set.
import { Session } from '../session.js';
import { capital, showError } from '../shell.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { Keys } from './keys.js';
import { choiceList, keyHints, keyList, screenKeys, sliders } from './controls.js';
import { components, episodes, numbers, figure } from './numbers.js';
import { settings } from './settings.js';

const WAITS = {
  begin: 'Press a key to begin', turn: 'Your turn', key: 'Hold a key: no action of this environment does nothing',
  next: 'Press a key for the next episode', paused: 'Paused: each key is one step', done: 'All episodes played',
};
const NUMBERS_EVERY = 80; // milliseconds between two updates of the numbers, which nobody reads faster

/** The sheet of this page and of whoever shows a session. */
export function addStyle() {
  if (document.getElementById('play-style')) return;
  const sheet = document.createElement('link');
  Object.assign(sheet, { id: 'play-style', rel: 'stylesheet', href: new URL('./play.css', import.meta.url) });
  document.head.append(sheet);
}

/** Play in an element; `compact` shows the picture and the numbers only. Returns the way to end it. */
export function mount(element, request, { compact = false } = {}) {
  addStyle();
  return new Player(element, request, compact);
}

class Player {
  constructor(element, request, compact) {
    this.element = element;
    this.request = request;
    this.compact = compact;
    this.input = 0;
    this.ended = null;
    this.remapping = null;
    this.note = '';
    this.facts = {};
    this.state = {};
    this.played = [];
    this._events = new AbortController();
    this._start();
  }

  close() {
    this._events.abort();
    cancelAnimationFrame(this._polling);
    this.session.close();
  }

  _start() {
    this.ready = this.ended = null;
    this.played = [];
    delete this.element.querySelector('.stage')?.dataset.frame; // what it shows is of the session before
    showError(null);
    this.session = new Session('play', this.request, {
      onMessage: (message, blob) => this._hear(message, blob),
      onEnd: (reason) => this._end(reason),
    });
    this.draw();
  }

  /** The keyboard belongs to the environment. */
  focus() {
    this.element.querySelector('.stage').focus({ preventScroll: true });
  }

  /** The same after a click or a touch; who moves through the controls by keys stays there. */
  refocus() {
    if (this._byPointer) this.focus();
  }

  send(type, facts = {}) {
    this.session.send({ type, ...facts });
  }

  // ------------------------------------------------------------------------------------ messages

  _hear(message, blob) {
    if (message.type === 'frame') this._show(message, blob);
    else if (message.type === 'ready') this._open(message);
    else if (message.type === 'state') this.state = message;
    else if (message.type === 'episode') this.played = [message, ...this.played].slice(0, 50);
    else if (message.type === 'note') showError(message);
    else if (message.type === 'refusal') this._refuse(message.text);
    else if (message.type === 'stats') this.element.querySelector('.stage').dataset.stats = JSON.stringify(message);
    if (message.type !== 'frame') this.draw();
  }

  _open(ready) {
    this.ready = ready;
    this.keys = new Keys(ready.env, ready.controls, (pressed) => this._press(pressed));
    this.draw();
    this._listen();
    if (!this.compact) this.focus();
  }

  _end(reason) {
    this.ended = reason;
    showError(reason);
    this.draw();
  }

  _refuse(text) {
    this.note = capital(text);
    clearTimeout(this._forgetting);
    this._forgetting = setTimeout(() => { this.note = ''; this.draw(); }, 4000);
  }

  async _show(facts, blob) {
    if (blob.length) {
      try {
        const picture = await createImageBitmap(new Blob([blob], { type: 'image/jpeg' }));
        const canvas = this.element.querySelector('canvas');
        if (canvas.width !== picture.width || canvas.height !== picture.height) {
          canvas.width = picture.width;
          canvas.height = picture.height;
        }
        canvas.getContext('2d').drawImage(picture, 0, 0);
        picture.close();
      } catch {
        showError({ text: 'a picture of this environment cannot be shown by the browser.' });
      }
    }
    this.send('ack', { frame: facts.frame });
    this.facts = facts;
    const stage = this.element.querySelector('.stage');
    Object.assign(stage.dataset, {
      frame: facts.frame, step: facts.step, episode: facts.episode, input: facts.input, end: facts.end ?? '',
      return: facts.raw_return, shaped: facts.shaped_return, who: facts.who, waits: facts.waits ?? '',
    });
    this._soon();
  }

  /** Draw the numbers now, or a little later if they were drawn just now. */
  _soon() {
    if (this._drawing) return;
    const since = performance.now() - (this._drawn ?? 0);
    this._drawing = setTimeout(() => { this._drawing = null; this.draw(); }, Math.max(0, NUMBERS_EVERY - since));
  }

  // ------------------------------------------------------------------------------------ keys

  _press(pressed) {
    this.input += 1;
    this.send('keys', { ...pressed, id: this.input, at: performance.timeOrigin + performance.now() });
    this._soon();
  }

  _listen() {
    if (this._listening) return;
    this._listening = true;
    const options = { signal: this._events.signal };
    addEventListener('keydown', (event) => this._keyDown(event), options);
    addEventListener('keyup', (event) => this._keyUp(event), options);
    addEventListener('blur', () => this._lose(), options);
    addEventListener('pointerdown', () => { this._byPointer = true; }, { ...options, capture: true });
    addEventListener('keydown', () => { this._byPointer = false; }, { ...options, capture: true });
    addEventListener('gymsolve-stats', () => this.send('stats'), options); // how late steps are, for measuring
    document.addEventListener('visibilitychange', () => document.hidden && this._lose(), options);
    const poll = () => {
      this.padThere = this.keys.poll();
      this._polling = requestAnimationFrame(poll);
    };
    poll();
  }

  /** Are keys meant for the environment? Not while somebody types or moves through the controls. */
  get _hasKeyboard() {
    const at = document.activeElement;
    if (this.compact) return at?.classList.contains('stage') ?? false;
    return !at || at === document.body || at.id === 'page' || at.classList.contains('stage');
  }

  _keyDown(event) {
    if (this.remapping) {
      event.preventDefault();
      if (event.code !== 'Escape') this.keys.remap(this.remapping, event.code);
      this.remapping = null;
      this.draw();
      if (this._clicked) this.focus();
      return;
    }
    if (!this._hasKeyboard || event.ctrlKey || event.metaKey) return;
    const name = this.keys.nameOf(event.code);
    if (name) {
      event.preventDefault();
      if (!event.repeat) this.keys.press(name, event.code);
    } else if (event.key === 'Shift' && !event.repeat) this._help(true);
    else if (event.code === 'Escape') this.send('pause', { on: this.state.paused = !this.state.paused });
    else if (event.code === 'Period') this.send('step');
    this.draw();
  }

  _keyUp(event) {
    const name = this.keys.nameOf(event.code);
    if (name) this.keys.release(name, event.code);
    else if (event.key === 'Shift' && this._shifted) this._help(false);
    this.draw();
  }

  _lose() {
    this.keys.clear();
    if (this._shifted) this._help(false);
  }

  /** Take over from the policy while Shift is held. */
  _help(on) {
    if (on === !!this._shifted || this.state.mode === 'you') return;
    this._shifted = on;
    this.takeOver(on);
  }

  /** The next key stands for this one of the environment. */
  remap(name) {
    this.remapping = name;
    this._clicked = this._byPointer;
    this.draw();
  }

  takeOver(on) {
    this.state.takeover = on;
    this.send('takeover', { on });
    this.draw();
  }

  // ------------------------------------------------------------------------------------ drawing

  draw() {
    this._drawn = performance.now();
    const { ready, facts, ended } = this;
    render(html`
      ${this.compact ? nothing : html`<h1>${ready ? ready.name : this.request.env ?? this.request.run}
        ${ready?.run ? html`<span class="soft">${ready.env}</span>` : nothing}</h1>`}
      <div class="play ${this.compact ? 'compact' : ''}">
        <div class="left">
          <div class="stage ${facts.table ? 'blind' : ''}" tabindex="0" role="group" aria-label="The environment; keys play it while it has focus">
            <canvas role="img" aria-label="Picture of the environment" width="320" height="240"
              ?hidden=${!ready || ready.undrawn || facts.table}></canvas>
            ${facts.table ? html`<table class="seen"><caption>${facts.undrawn ?? ''} What is observed:</caption>
              <tbody>${facts.table.map(([name, value]) => html`<tr><th scope="row">${name}</th><td class="number">${value}</td></tr>`)}</tbody>
              </table>` : nothing}
            ${this.compact ? nothing : keyHints(this)}
            ${ended ? html`<p class="over"><button type="button" class="main" @click=${() => this._start()}>Start again</button></p>` : nothing}
          </div>
          <p class="says" role="status">${this._says()}</p>
          ${ready ? numbers(this) : nothing}
          ${this.compact || !ready ? nothing : html`${screenKeys(this)}${sliders(this)}`}
        </div>
        ${this.compact || !ready ? nothing : html`<div class="right">
          ${settings(this)}${keyList(this)}${choiceList(this)}${components(this)}${episodes(this)}</div>`}
      </div>`, this.element);
  }

  /** The line below the picture. */
  _says() {
    if (this.ended) return 'The session has ended.';
    if (!this.ready) return 'Starting the environment …';
    if (this.note) return this.note;
    const { end, waits, raw_return: total } = this.facts;
    const over = end ? `Episode over (${end}), return ${figure(total)}. ` : '';
    return over + (WAITS[waits] ?? '');
  }
}
