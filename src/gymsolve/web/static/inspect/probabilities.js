// What the policy would do in a state: probabilities of choices, or means and spreads of a box.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';

const MOST = 40;

export const probabilities = {
  id: 'probabilities',
  title: 'Actions',
  make(element, view) {
    return {
      show(state) {
        const { episode } = view;
        if (state >= episode.steps) {
          render(html`<p class="soft">No action follows the last state.</p>`, element);
          return;
        }
        const kind = episode.spec.action.kind;
        const draw = { box: boxes, multi_binary: buttons }[kind] ?? choices;
        render(draw(episode, state), element);
      },
    };
  },
};

function bar(name, share, { chosen, illegal, text } = {}) {
  const width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return html`<div class=${`bar${chosen ? ' chosen' : ''}${illegal ? ' illegal' : ''}`}>
    <span class="name">${name}${illegal ? html` <span class="soft">illegal</span>` : nothing}</span>
    <span class="track"><span class="fill" .style=${`width:${width}`}></span></span>
    <span class="number" data-probability=${share}>${text ?? percent(share)}</span></div>`;
}

function percent(share) {
  if (!Number.isFinite(share)) return '–';
  return share > 0 && share < 0.001 ? '<0.1 %' : `${(100 * share).toFixed(1)} %`;
}

/** Discrete and MultiDiscrete: every choice of every part. */
function choices(episode, state) {
  const { nvec, start } = episode.spec.action;
  const shares = episode.vector('params', state);
  const mask = episode.vector('mask', state);
  const taken = episode.vector('action', state);
  const names = episode.facts.action_names;
  let first = 0;
  return nvec.map((count, part) => {
    const from = first;
    first += count;
    const rows = Array.from({ length: count }, (_, choice) => ({
      name: names[from + choice] || `${choice + (start[part] ?? 0)}`,
      share: shares[from + choice],
      chosen: taken[part] === choice,
      illegal: mask ? !mask[from + choice] : false,
    }));
    const shown = count > MOST ? rows.sort((a, b) => b.share - a.share).slice(0, MOST) : rows;
    return html`<div class="bars" role="group" aria-label=${nvec.length > 1 ? `part ${part + 1}` : 'choices'}>
      ${nvec.length > 1 ? html`<h3>part ${part + 1}</h3>` : nothing}
      ${shown.map((row) => bar(row.name, row.share, row))}
      ${count > MOST ? html`<p class="soft small">the likeliest ${MOST} of ${count}</p>` : nothing}</div>`;
  });
}

/** MultiBinary: how likely each button is held. */
function buttons(episode, state) {
  const shares = episode.vector('params', state);
  const mask = episode.vector('mask', state);
  const taken = episode.vector('action', state);
  const names = episode.facts.action_names;
  return html`<div class="bars" role="group" aria-label="buttons">${episode.spec.action.nvec.map((_, part) => bar(
    names[part] || `button ${part}`, shares[2 * part + 1],
    { chosen: taken[part] === 1, illegal: mask ? !mask[2 * part + 1] : false }))}</div>`;
}

/** Box: mean and spread in the policy's own units, and what the environment got. */
function boxes(episode, state) {
  const means = episode.vector('params', state);
  const given = episode.vector('action', state);
  const taken = episode.vector('taken', state);
  const names = episode.facts.action_names;
  const std = episode.facts.std ?? [];
  return html`<div class="scroll"><table><thead><tr><th>dimension</th><th class="number">mean</th><th class="number">std</th>
    <th class="number">chosen</th><th class="number">given to the environment</th></tr></thead><tbody>
    ${Array.from(means, (mean, at) => html`<tr><td>${names[at] || at}</td><td class="number" data-mean=${mean}>${short(mean)}</td>
      <td class="number">${short(std[at])}</td><td class="number">${short(given[at])}</td><td class="number">${short(taken[at])}</td></tr>`)}
    </tbody></table></div><p class="soft small">Mean, std and chosen are in the policy's units: 0 is the middle of the range, ±1 are its ends.</p>`;
}
