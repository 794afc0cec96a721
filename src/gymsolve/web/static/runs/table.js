// The rows of the table of runs, in groups if wanted.
import { pages } from '../addresses.js';
import { html, nothing } from '../vendor/lit-html.js';
import { count, number } from '../words.js';

const MOST_AT_EASE = 7; // columns beside which the ids of runs have room on one line

/** `state` has the answer, the chosen runs and the order; `on` is called for what a person does. */
export function table(state, columns, on) {
  const { answer } = state;
  const sound = answer.rows.filter((run) => run.status !== 'damaged').map((run) => run.id);
  const body = answer.groups.length ? grouped(state, columns, on) : answer.rows.map((run) => row(run, state, columns, on));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table class="runs ${columns.length > MOST_AT_EASE ? 'many' : ''}"><thead><tr><th>${box(state, sound, 'Choose all that are shown', on)}</th>
    ${heading({ label: 'Run', sort: 'name' }, state, on)}${columns.map((column) => heading(column, state, on))}</tr></thead>
    <tbody>${body}</tbody></table></div>`;
}

/** A checkbox that chooses some runs, or none of them. */
function box(state, ids, label, on) {
  const all = ids.length > 0 && ids.every((id) => state.chosen.has(id));
  return html`<input type="checkbox" aria-label=${label} ?disabled=${!ids.length} .checked=${all} @change=${(event) => on.choose(ids, event.target.checked)}>`;
}

function heading({ label, sort }, state, on) {
  if (!sort) return html`<th scope="col">${label}</th>`;
  const here = state.sort === sort;
  const order = here && state.order === 'down' ? 'up' : 'down';
  const arrow = here ? (state.order === 'down' ? ' ↓' : ' ↑') : '';
  return html`<th scope="col" aria-sort=${here ? (state.order === 'down' ? 'descending' : 'ascending') : nothing}>
    <button type="button" class="quiet" @click=${() => on.sort(sort, order)}>${label}${arrow}</button></th>`;
}

function grouped(state, columns, on) {
  const { rows, groups } = state.answer;
  return groups.map((group) => {
    const members = rows.filter((run) => run.part === group.value);
    if (!members.length) return nothing; // it is on another page
    return html`${groupRow(group, state, columns, on)}${members.map((run) => row(run, state, columns, on))}`;
  });
}

/** What the runs of a group have in common, and how well they do. */
function groupRow(group, state, columns, on) {
  const name = `${state.group} = ${group.value}`;
  const facts = [`${count(group.runs.length)} ${group.runs.length === 1 ? 'run' : 'runs'}`, `${count(group.solved)} solved`,
    group.mean === null ? '' : `best evaluations: mean ${number(group.mean)}, best ${number(group.best)}`];
  return html`<tr class="group"><td>${box(state, group.runs, `Choose the runs with ${name}`, on)}</td>
    <th scope="rowgroup" colspan=${columns.length + 1}><span class="code">${name}</span> <span class="soft small">${facts.filter(Boolean).join(' · ')}</span></th></tr>`;
}

function row(run, state, columns, on) {
  if (run.status === 'damaged') return damage(run, state, columns, on);
  return html`<tr class=${run.status}><td class="pick">${box(state, [run.id], `Choose ${run.id}`, on)}</td>
    <td class="who"><a href=${pages.run(run.id)}>${run.label || run.name || run.id}</a> ${tags(run, on)}
      <div class="soft small facts">${origin(run, state).map((fact) => html`<span>${fact}</span> `)}</div></td>
    ${columns.map((column) => html`<td class="c-${column.id}" data-label=${column.id === 'setting' ? column.label : nothing}>${column.cell(run)}</td>`)}</tr>`;
}

function origin(run, { answer }) {
  return [run.label ? run.name : '', run.name.includes(run.algo) ? '' : run.algo, run.seed === null ? '' : `seed ${run.seed}`,
    run.group ? `group ${run.group}` : '', run.parent ? `from ${run.parent.run}` : '',
    run.host && run.host !== answer.machine ? `on ${run.host}` : '', run.name ? run.id : ''].filter(Boolean);
}

function tags(run, on) {
  return run.tags.map((tag) => html`<button type="button" class="tag" title="Show the runs with this tag" @click=${() => on.search(`tag:${tag}`)}>${tag}</button> `);
}

/** A run that cannot be read has a sentence in place of numbers; it can be deleted. */
function damage(run, state, columns, on) {
  return html`<tr class="damaged"><td class="pick">${box(state, [run.id], `Choose ${run.id}`, on)}</td>
    <td class="who"><a href=${pages.run(run.id)}>${run.id}</a></td>
    <td class="c-damage" colspan=${Math.max(1, columns.length)}><span class="badge bad">damaged</span> <span class="soft small reason">${run.reason}</span></td></tr>`;
}
