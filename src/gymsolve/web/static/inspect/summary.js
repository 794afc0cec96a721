// What is looked at and how it ended, in a line; and what there is to look at, where nothing is chosen.
import { pages } from '../addresses.js';
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { count, TONES } from '../words.js';

const ENDS = { terminated: 'ended by the task', truncated: 'ended by a time limit', cut: 'cut before its end' };

/** Say whose episode it is. */
export function summarize(element, { run, episode }) {
  if (!run) {
    render(html`<h1>Inspect</h1><p class="soft">Step through an episode: what the network saw, what it thought, what it did, what came of it.</p>`, element);
    return;
  }
  render(html`<h1>${run.env_id}${episode ? result(episode) : nothing}</h1>
    <p class="soft">${episode ? whose(episode.facts) : ''} <a href=${pages.run(run.run)}>the run</a></p>`, element);
}

function result({ facts, steps }) {
  const earned = facts.return === undefined || facts.return === null ? nothing : html`: return ${short(facts.return)}`;
  return html`${earned} <span class="soft">${count(steps)} ${steps === 1 ? 'step' : 'steps'}, ${
    facts.state === 'playing' ? 'still playing' : facts.state === 'stopped' ? 'stopped' : ENDS[facts.end] ?? 'ended'}</span>`;
}

function whose(facts) {
  return [
    `Policy after ${count(facts.env_steps)} steps of training`, facts.task ? `task ${facts.task}` : '', `seed ${facts.seed}`,
    facts.deterministic ? 'likeliest actions' : 'sampled actions', facts.role === 'train' ? 'wrappers of training' : '',
    facts.parent ? `a branch at step ${facts.branch_at}` : '',
  ].filter(Boolean).map((part) => html`${part} · `);
}

/** The runs of the folder, each a link. */
export function offer(element, runs) {
  const row = (run) => html`<tr><td><a href=${pages.inspect({ run: run.run })}>${run.run}</a></td>
    <td>${run.env_id}</td><td><span class="badge ${TONES[run.status]}">${run.status}</span></td></tr>`;
  render(runs.length ? html`<div class="below"><section class="card" aria-label="Runs"><div class="scroll"><table>
    <thead><tr><th scope="col">run</th><th scope="col">environment</th><th scope="col">status</th></tr></thead>
    <tbody>${runs.filter((run) => run.status !== 'damaged').map(row)}</tbody></table></div></section></div>` : nothing, element);
}
