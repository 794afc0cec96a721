// The session behind the page: started when something has to be played, asked by number.
import { Session } from '../session.js';

export class Desk {
  /** `onTrouble(reason)` when the session ends by itself. */
  constructor(run, onTrouble) {
    this._run = run;
    this._onTrouble = onTrouble;
    this._session = null;
    this._asked = new Map();
    this._next = 1;
  }

  /** Ask for a verb; `onProgress(message, blob)` hears everything before `done`, which is the answer. */
  ask(type, message = {}, onProgress = () => {}) {
    const id = this._next;
    this._next += 1;
    const answer = new Promise((resolve, reject) => this._asked.set(id, { resolve, reject, onProgress }));
    const whole = { ...message, type, id };
    if (this._session && !this._session.over) this._session.send(whole);
    else this._start(whole);
    return answer;
  }

  /** `stop`, `pause` or `continue` what is being played. */
  tell(type) { this._session?.send({ type }); }

  get busy() { return this._asked.size > 0; }

  close() {
    this._session?.close();
    this._session = null;
  }

  _start(message) {
    this._session = new Session('inspect', { ...message, run: this._run }, {
      onMessage: (reply, blob) => this._hear(reply, blob),
      onEnd: (reason) => this._over(reason),
    });
  }

  _hear(reply, blob) {
    if (reply.type === 'note') this._onTrouble(reply);
    const asked = this._asked.get(reply.id);
    if (!asked) return;
    if (reply.type === 'failed') {
      this._asked.delete(reply.id);
      asked.reject(reply);
    } else if (reply.type === 'done') {
      this._asked.delete(reply.id);
      asked.resolve({ ...reply, blob });
    } else asked.onProgress(reply, blob);
  }

  _over(reason) {
    const waiting = [...this._asked.values()];
    this._asked.clear();
    for (const { reject } of waiting) reject(reason);
    if (!waiting.length && reason.type !== 'closed') this._onTrouble(reason);
  }
}
