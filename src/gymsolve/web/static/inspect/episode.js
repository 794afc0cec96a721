// One stored episode: numbers of all states in columns, wide observations and pictures on demand.
import { api } from '../addresses.js';
import { get, getBytes } from '../api.js';
import { Pictures, fetchParts, inflate } from './pictures.js';
import { Columns, layout, numbers } from './rows.js';

const AT_ONCE = 4096;
const KEPT_WIDE = 64;
export const CREDIT = ['advantage', 'td_error', 'return', 'return_to_go', 'advantage_value', 'advantage_mean'];

export class Episode {
  static async open(run, name) {
    const episode = new Episode(run, await get(api.episode(run, name)));
    await episode.extend(episode.facts.states);
    return episode;
  }

  constructor(run, facts) {
    this.run = run;
    this.name = facts.name;
    this.facts = facts;
    this.spec = facts.spec;
    this.places = layout(facts.fields);
    this.columns = new Columns(this.places, facts.head);
    this.changes = {};
    this._credit = new Map();
    this._wide = new Map();
    this._labels = [];
    this._extending = Promise.resolve();
    this.pictures = new Pictures((from, to) => this.address('frames', { from, to }), () => this.states);
  }

  get states() { return this.columns.rows; }
  get steps() { return Math.max(0, this.states - 1); }
  get whole() { return this.facts.state === 'whole'; }
  get hasFrames() { return this.facts.camera; }

  address(what, query) { return api[what](this.run, this.name, query); }

  /** Take the rows up to a number of states, as they come; one after the other. */
  extend(states) {
    this._extending = this._extending.then(() => this._extend(states));
    return this._extending;
  }

  async _extend(states) {
    while (this.states < states) {
      const from = this.states;
      this.columns.add(await getBytes(this.address('rows', { from, to: Math.min(states, from + AT_ONCE), head: 1 })));
      if (this.states === from) return;
    }
  }

  /** Facts again, when the episode has ended. */
  async refresh() {
    this.facts = await get(api.episode(this.run, this.name));
    await this.extend(this.facts.states);
  }

  /** Advantages and returns, by the server, with the functions of training. */
  async value(changes = this.changes) {
    this.changes = changes;
    const buffer = await getBytes(this.address('credit', changes));
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    head.columns.forEach((name, i) => {
      this._credit.set(name, new Float32Array(buffer, 4 + length + 4 * i * head.rows, head.rows));
    });
  }

  /** One number per step, under its name in the CSV: `reward` is what is learned from, `reward_seen` what was paid. */
  column(name) {
    if (name.startsWith('reward/')) return this._component(name.slice(7));
    if (name === 'reward_seen') return this.columns.column('reward').subarray(0, this.steps);
    return this._credit.get(name) ?? this.columns.column(name)?.subarray(0, this.steps);
  }

  /** A number of a state; null where it has none. */
  at(name, state) {
    if (name === 'value') return this.columns.column('value')[state];
    const value = this.column(name)?.[state];
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  vector(name, state) { return this.columns.has(name) ? this.columns.vector(name, state) : null; }

  /** What the action taken in a state is called; empty at the end. */
  label(state) {
    if (state < 0 || state >= this.steps) return '';
    this._labels[state] ??= this.columns.text('label', state);
    return this._labels[state];
  }

  frame(state) { return this.facts.camera && state < this.states ? this.pictures.get(state) : Promise.resolve(null); }

  /** Observations, what the network took of them, and memory, in one state: {name: numbers}. */
  async wide(state) {
    const held = this._wide.get(state);
    if (held) return held;
    const buffer = await getBytes(this.address('rows', { from: state, to: state + 1 }));
    const fields = {};
    for (const [name, place] of this.places) {
      if (place.at >= this.facts.head && place.at + place.bytes <= buffer.byteLength) fields[name] = numbers(buffer, 0, place);
    }
    this._wide.set(state, fields);
    if (this._wide.size > KEPT_WIDE) this._wide.delete(this._wide.keys().next().value);
    return fields;
  }

  /** The frames of a picture that the network saw, as bytes, oldest first. */
  async planes(key, state) {
    const planes = (await this.wide(state))[`planes/${key}`];
    const parts = await fetchParts(this.address('planes', { numbers: [...planes].join(',') }));
    return Promise.all(parts.map(inflate));
  }

  _component(name) {
    const at = this.spec.components.indexOf(name);
    if (at < 0) return undefined;
    return Float64Array.from({ length: this.steps }, (_, row) => this.columns.vector('components', row)[at]);
  }

  close() { this.pictures.close(); }
}
