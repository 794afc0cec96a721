// Columns of the table of runs: what each shows, which ones are chosen, and the menu that chooses them.
import { api, pages } from '../addresses.js';
import { get } from '../api.js';
import { meant } from '../names.js';
import { sparkline } from '../sparkline.js';
import { html, nothing } from '../vendor/lit-html.js';
import { age, clock, count, ended, number, SEVERITIES, TONES } from '../words.js';

const KEPT = 'gymsolve.columns';
const plain = (id, label, value) => ({ id, label, more: true, cell: (run) => html`<span class="nowrap">${value(run) ?? '–'}</span>` });

export const COLUMNS = [
  { id: 'status', label: 'Status', sort: 'status', cell: status },
  plain('env', 'Environment', (run) => run.env_id),
  plain('algo', 'Algorithm', (run) => run.algo),
  plain('seed', 'Seed', (run) => run.seed),
  plain('group', 'Group', (run) => run.group),
  plain('host', 'Machine', (run) => run.host),
  { id: 'steps', label: 'Steps', sort: 'steps', cell: steps },
  { id: 'return', label: 'Return', cell: returns },
  { id: 'best', label: 'Best evaluation', sort: 'best', cell: best },
  { id: 'alerts', label: 'Alerts', cell: (run) => run.alerts.map((alert) => html`<div class="small ${SEVERITIES[alert.severity]}">${alert.title}</div>`) },
  { id: 'created', label: 'Started', sort: 'created', cell: (run) => html`<span class="nowrap soft" title=${run.created ? clock(run.created) : ''}>${age(run.created)}${run.created && age(run.created) !== 'now' ? ' ago' : ''}</span>` },
  { id: 'look', label: 'Look', cell: (run) => (run.best_reward === null ? nothing : links(run)) },
];

function status(run) {
  const { reason } = run;
  return html`<span class="badge ${TONES[run.status]}">${run.status}</span>
    ${reason && reason !== run.status ? html`<div class="soft small reason ${reason.length < 24 ? 'nowrap' : ''}">${ended(reason)}</div>` : nothing}`;
}

function steps(run) {
  return html`<span class="nowrap">${count(run.env_steps)}</span>
    <progress class=${run.solved ? 'solved' : ''} max="1" value=${run.progress ?? 0} aria-label="Progress of ${run.id}"></progress>`;
}

function returns(run) {
  return html`${sparkline(run.curve, run.threshold, `Return of ${run.id}`)}
    ${run.curve_of && run.curve_of !== 'training episodes' ? html`<div class="soft small">${run.curve_of}</div>` : nothing}`;
}

function best(run) {
  return html`<span class="nowrap ${run.solved ? 'good' : ''}">${number(run.best_reward)}</span>
    ${run.threshold === null ? nothing : html`<div class="soft small nowrap">of ${number(run.threshold)}</div>`}`;
}

/** The way to what most people come for, of a run that has a checkpoint. */
function links(run) {
  const where = { run: run.id };
  return html`<span class="nowrap"><a href=${pages.play(where)} aria-label="Watch ${run.id} play">watch</a> · <a href=${pages.inspect(where)} aria-label="Inspect ${run.id}">inspect</a></span>`;
}

/** The columns that a person chose in this browser, and settings with a column of their own. */
export function chosenColumns() {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(KEPT));
  } catch {
    // Something else wrote it: the usual columns are shown.
  }
  const isList = (list) => Array.isArray(list) && list.every((one) => typeof one === 'string');
  const usual = COLUMNS.filter((column) => !column.more).map((column) => column.id);
  return { ids: isList(kept?.ids) ? kept.ids : usual, settings: isList(kept?.settings) ? kept.settings : [] };
}

export function keepColumns(chosen) {
  if (chosen) localStorage.setItem(KEPT, JSON.stringify(chosen));
  else localStorage.removeItem(KEPT);
}

/** The columns to draw, in the order of the table; those of settings stand before the last one. */
export function shownColumns({ ids, settings }) {
  const own = settings.map((path) => ({ id: 'setting', path, label: path, cell: (run) => html`<span class="code">${run.settings[path] ?? '–'}</span>` }));
  const fixed = COLUMNS.filter((column) => ids.includes(column.id));
  const at = fixed.findIndex((column) => ['alerts', 'created', 'look'].includes(column.id));
  return at < 0 ? [...fixed, ...own] : [...fixed.slice(0, at), ...own, ...fixed.slice(at)];
}

/** Names for the fields that take a setting, asked for when a person first goes there. */
export class SettingNames {
  constructor(onLoad) {
    Object.assign(this, { onLoad, asked: null, facts: [], settings: [] });
  }

  /** Resolves when the names are there, or cannot be had: a field then takes what is typed. */
  load() {
    this.asked ??= get(api.settings()).then(({ facts, settings }) => {
      Object.assign(this, { facts, settings });
      this.onLoad();
    }, () => { this.asked = null; });
    return this.asked;
  }

  /** What a person means; as typed where no names could be had, null where it is not clear. */
  meant(text, facts) {
    const names = [...(facts ? this.facts : []), ...this.settings.map((one) => one.path)];
    return text && names.length ? meant(text, names) : text;
  }

  options(facts) {
    return html`${facts ? this.facts.map((name) => html`<option value=${name}></option>`) : nothing}
      ${this.settings.map((one) => html`<option value=${one.path}>${one.values > 1 ? `${count(one.values)} values` : 'the same in all'}</option>`)}`;
  }
}

/** The menu of columns; `change` gets what is chosen, or null for the usual ones. */
export function columnMenu(chosen, names, change, wrong) {
  const toggle = (id) => (event) => {
    const ids = chosen.ids.filter((one) => one !== id);
    change({ ...chosen, ids: event.target.checked ? [...ids, id] : ids });
  };
  const add = async ({ target }) => {
    const text = target.value.trim();
    if (!text) return;
    await names.load();
    const path = names.meant(text, false);
    if (path === null) {
      wrong(text);
      return;
    }
    target.value = '';
    if (!chosen.settings.includes(path)) change({ ...chosen, settings: [...chosen.settings, path] });
  };
  const drop = (path) => () => change({ ...chosen, settings: chosen.settings.filter((one) => one !== path) });
  return html`<details class="menu" @toggle=${() => names.load()}><summary>Columns</summary><div class="card">
    <fieldset><legend>Columns</legend>${COLUMNS.map((column) => html`<label><input type="checkbox" .checked=${chosen.ids.includes(column.id)} @change=${toggle(column.id)}> ${column.label}</label>`)}</fieldset>
    <label class="field"><span>Add a setting</span><input list="column-names" placeholder="algo.learning_rate" autocomplete="off" spellcheck="false" @focus=${() => names.load()} @change=${add}></label>
    <datalist id="column-names">${names.options(false)}</datalist>
    ${chosen.settings.map((path) => html`<div class="row spread"><code>${path}</code><button type="button" class="quiet small" aria-label="Remove ${path}" @click=${drop(path)}>×</button></div>`)}
    <button type="button" class="small" @click=${() => change(null)}>The usual columns</button></div></details>`;
}
