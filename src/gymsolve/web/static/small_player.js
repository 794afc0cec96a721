// The newest checkpoint of a run plays beside its curves, so that one can watch it learn.
import { Session } from './session.js';
import { capital } from './shell.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { count, number } from './words.js';

const KEPT = 'gymsolve.player';

export class SmallPlayer {
  constructor(id) {
    Object.assign(this, { id, session: null, place: null, run: null, facts: null, checkpoint: null, sampled: false, note: '', table: null });
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'The newest checkpoint plays');
  }

  /** Draw it into a place; it begins by itself where it was on before, and the run trains. */
  show(place, run) {
    const first = this.place === null;
    Object.assign(this, { place, run });
    if (first && run.status === 'running' && localStorage.getItem(KEPT) === 'on') this.start();
    this.draw();
  }

  start() {
    localStorage.setItem(KEPT, 'on');
    Object.assign(this, { note: 'Starting …', facts: null, table: null });
    const request = { run: this.id, checkpoint: 'last', mode: 'policy', follow: true };
    const session = new Session('play', request, {
      onMessage: (message, blob) => this.hear(session, message, blob),
      onEnd: (reason) => {
        Object.assign(this, { session: null, note: [capital(reason.text), reason.hint].filter(Boolean).join(' ') });
        this.draw();
      },
    });
    this.session = session;
    this.draw();
  }

  stop() {
    localStorage.setItem(KEPT, 'off');
    this.session?.close();
    Object.assign(this, { session: null, note: '' });
    this.draw();
  }

  async hear(session, message, blob) {
    if (message.type === 'state') Object.assign(this, { checkpoint: message.checkpoint, sampled: message.sampled });
    // The answer tells which checkpoint the new episode has: a newer one may be there.
    if (message.type === 'frame' && message.episode !== this.facts?.episode) session.send({ type: 'follow', on: true });
    if (message.type === 'note') this.note = message.text;
    if (message.type === 'frame') {
      Object.assign(this, { facts: message, table: message.table ?? null, note: message.undrawn ?? '' });
      if (blob.length) await this.paint(blob);
      session.send({ type: 'ack', frame: message.frame });
    }
    this.draw();
  }

  async paint(blob) {
    const picture = await createImageBitmap(new Blob([blob]));
    const { width, height } = picture;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.canvas.getContext('2d').drawImage(picture, 0, 0);
    picture.close();
  }

  draw() {
    const { facts, session, run } = this;
    const text = facts ? `step ${count(facts.step)}, return ${number(facts.raw_return)}${facts.action ? `, ${facts.action}` : ''}` : '';
    const which = this.checkpoint === null ? 'not trained yet' : `checkpoint ${count(Number(this.checkpoint))}`;
    render(html`<section class="card player"><div class="row spread"><b>Newest checkpoint</b>
      ${session ? html`<button type="button" @click=${() => this.stop()}>Stop playing</button>`
        : html`<button type="button" ?disabled=${run.status === 'damaged'} @click=${() => this.start()}>Watch it play</button>`}</div>
      ${session && facts ? html`${this.table ? table(this.table) : this.canvas}<p class="soft small">${which}${this.sampled ? ', actions sampled' : ''}</p>
        <p class="soft small facts">${text}</p>` : nothing}
      ${this.note ? html`<p class="small" role="status">${this.note}</p>` : nothing}
      ${!session && !this.note ? html`<p class="soft small">Plays what the run has learned so far, in a process beside it.</p>` : nothing}</section>`, this.place);
  }
}

function table(rows) {
  return html`<table><tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td class="number">${value}</td></tr>`)}</tbody></table>`;
}
