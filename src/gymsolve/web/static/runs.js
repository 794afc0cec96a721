// The table of runs: filter, sort, group, choose columns; compare, tag, delete some, start one.
import { api, pages } from './addresses.js';
import { get } from './api.js';
import { askForRun, commandLine } from './ask.js';
import { askForTags, askToDelete } from './edit_runs.js';
import { chosenColumns, columnMenu, keepColumns, SettingNames, shownColumns } from './runs/columns.js';
import { table } from './runs/table.js';
import { capital, page, showError } from './shell.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { count } from './words.js';

const PAGE = 50;
const main = page('Runs');
const given = new URLSearchParams(location.search);
const state = {
  query: given.get('query') ?? '', sort: given.get('sort') ?? 'created', order: given.get('order') ?? 'down', group: given.get('group') ?? '',
  offset: Number(given.get('offset') ?? 0) || 0, trials: given.get('trials') === '1', chosen: new Map(), answer: null, fault: null,
  columns: chosenColumns(),
};
const names = new SettingNames(() => draw());
const on = {
  sort: (sort, order) => change({ sort, order }),
  search: (query) => change({ query }),
  choose: (ids, wanted) => {
    const known = new Map(state.answer.rows.map((run) => [run.id, run]));
    ids.forEach((id) => (wanted ? state.chosen.set(id, known.get(id) ?? state.chosen.get(id) ?? { id, tags: [], status: '' }) : state.chosen.delete(id)));
    draw();
  },
};
let asked = 0;
let timer = 0;
let typing = 0;

async function look() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const { query, sort, order, offset, trials, group, columns } = state;
    const answer = await get(api.runs({ query, sort, order, offset, limit: PAGE, trials: trials ? '1' : '',
      ...(group && { group_by: group }), ...(columns.settings.length && { settings: columns.settings.join('\n') }) }));
    if (mine !== asked) return;
    Object.assign(state, { answer, fault: null });
    showError(null);
  } catch (error) {
    if (mine !== asked) return;
    if (error.status === 400 && state.answer) state.fault = error; // a filter that is still being written
    else showError(error);
  }
  draw();
  timer = setTimeout(again, state.answer?.running ? 2000 : 5000);
}

function again() {
  if (document.hidden) timer = setTimeout(again, 1000);
  else look();
}

function change(changes) {
  Object.assign(state, { offset: 0 }, changes);
  const kept = Object.entries({ query: state.query, sort: state.sort === 'created' ? '' : state.sort, group: state.group,
    order: state.order === 'down' ? '' : state.order, offset: state.offset || '', trials: state.trials ? '1' : '' });
  history.replaceState(null, '', pages.runs(Object.fromEntries(kept.filter(([, value]) => value !== ''))));
  draw();
  look();
}

/** Wait for the next letter before asking. */
function type(query) {
  clearTimeout(typing);
  typing = setTimeout(() => change({ query }), 200);
}

function choose(columns) {
  keepColumns(columns);
  state.columns = chosenColumns();
  draw();
  look();
}

async function groupBy(event) {
  const text = event.target.value.trim();
  await names.load();
  const path = names.meant(text, true);
  if (path === null) unknown(text);
  else change({ group: path });
}

function unknown(text) {
  state.fault = { text: `no setting, or more than one, is called '${text}'.`, hint: 'Choose one from the list.' };
  draw();
}

function draw() {
  render(view(), main);
}

function view() {
  const { answer } = state;
  if (!answer) return html`<h1>Runs</h1><p class="soft">Loading …</p>`;
  const nobody = answer.total === 0 && !state.query && !state.trials;
  return html`<div class="row spread"><h1>Runs</h1><div class="row">${withChosen(answer)}
      ${answer.read_only ? html`<span class="soft">read only</span>`
        : html`<button type="button" class="main" @click=${start}>Start a run</button>`}</div></div>
    ${nobody ? nothingYet(answer) : html`${controls(answer)}${answer.rows.length ? table(state, shownColumns(state.columns), on) : html`<p>No run fits these words.</p>`}${paging(answer)}`}`;
}

/** What can be done with the runs that are chosen. */
function withChosen(answer) {
  const { size } = state.chosen;
  const some = size ? ` ${size}` : '';
  return html`<button type="button" ?disabled=${size < 2} @click=${compare}>Compare${some}</button>
    ${answer.read_only || !size ? nothing : html`<button type="button" @click=${() => edit((ids, runs) => askForTags(ids, [...new Set(runs.flatMap((run) => run.tags))]))}>Tag${some}</button>
      <button type="button" class="danger" @click=${() => edit(askToDelete, true)}>Delete${some}</button>`}`;
}

/** Ask and do something with the chosen runs; they stay chosen unless they are gone. */
async function edit(ask, gone = false) {
  try {
    const answer = await ask([...state.chosen.keys()], [...state.chosen.values()]);
    if (!answer) return;
    if (gone) state.chosen.clear();
    showError(null);
  } catch (error) {
    showError(error);
    return;
  }
  await look();
  for (const run of state.answer?.rows ?? []) if (state.chosen.has(run.id)) state.chosen.set(run.id, run);
}

function nothingYet(answer) {
  return html`<div class="card"><p>There are no runs in <code>${answer.folder}</code> yet.</p>
    <p>${answer.read_only ? 'Start one in a terminal:' : 'Start one with the button above, or in a terminal:'}</p>
    ${commandLine('gymsolve train CartPole-v1')}</div>`;
}

function controls(answer) {
  return html`<div class="row filters">
    <label>Filter <input type="search" .value=${state.query} placeholder="words, status:running, env:CartPole, tag:paper"
      @input=${(event) => type(event.target.value)}></label>
    <label>Group by <input type="search" class="grouping" list="group-names" .value=${state.group} placeholder="a setting, env, algo …" autocomplete="off" spellcheck="false"
      @focus=${() => names.load()} @change=${groupBy}></label><datalist id="group-names">${names.options(true)}</datalist>
    <label><input type="checkbox" .checked=${state.trials} @change=${(event) => change({ trials: event.target.checked })}> with trials</label>
    ${columnMenu(state.columns, names, choose, unknown)}
    <span class="soft">${count(answer.total)} ${answer.total === 1 ? 'run' : 'runs'}${answer.running ? `, ${answer.running} running` : ''}</span>
    ${state.fault ? html`<span class="calm" role="status">${capital(state.fault.text)} ${state.fault.hint ?? ''}</span>` : nothing}</div>`;
}

function paging(answer) {
  const { offset } = state;
  if (answer.total <= PAGE) return nothing;
  return html`<div class="row paging"><button type="button" ?disabled=${offset === 0} @click=${() => change({ offset: Math.max(0, offset - PAGE) })}>Back</button>
    <span class="soft">${count(offset + 1)} to ${count(Math.min(answer.total, offset + PAGE))} of ${count(answer.total)}</span>
    <button type="button" ?disabled=${offset + PAGE >= answer.total} @click=${() => change({ offset: offset + PAGE })}>Next</button></div>`;
}

function compare() {
  location.href = pages.compare({ runs: [...state.chosen.keys()].join(',') });
}

async function start() {
  try {
    const begun = await askForRun({
      title: 'Start a run', verb: 'Start', path: api.runs(), fields: ['env', 'steps', 'seed', 'seeds', 'set'],
    });
    if (!begun) return;
    const several = begun.run.startsWith('group:'); // several seeds: the table shows how they come in
    location.href = several ? pages.runs({ query: begun.run }) : pages.run(begun.run);
  } catch (error) {
    showError(error);
  }
}

look();
