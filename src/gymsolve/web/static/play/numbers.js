// What is known of the step that is shown: rewards, who acted, what was paid for what.
import { html, nothing } from '../vendor/lit-html.js';

const WHO = { person: 'yours', policy: 'policy', untrained: 'untrained', random: 'chance' };

export function figure(value) {
  if (value === null || value === undefined) return '–';
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

const tile = (name, text, key, kind = '') => html`<div class="tile ${kind}"><b data-number=${key}>${text}</b><span>${name}</span></div>`;

export function numbers({ facts, state, ready }) {
  if (!('step' in facts)) return nothing;
  const shaped = facts.shaped_return !== facts.raw_return;
  const asked = state.asked ? ` of ${state.asked}` : '';
  return html`<div class="tiles">
    ${tile('episode', `${facts.episode}${asked}`, 'episode')}${tile('step', facts.step, 'step')}
    ${tile('return', figure(facts.raw_return), 'return')}
    ${shaped ? tile('return with shaping', figure(facts.shaped_return), 'shaped') : nothing}
    ${tile(shaped || ready.components.length ? 'reward with shaping' : 'reward', figure(facts.reward), 'reward')}${tile('value', figure(facts.value), 'value')}
    ${tile(facts.who ? `action (${WHO[facts.who]})` : 'action', facts.action || '–', 'action', ready.controls.kind === 'box' ? 'wide' : '')}</div>`;
}

/** What each part of the reward paid. */
export function components({ facts, ready }) {
  if (!ready.components.length) return nothing;
  return html`<section class="card"><h2 class="first">Reward, by its parts</h2><table class="parts">
    <thead><tr><th>part</th><th class="number">this step</th><th class="number">this episode</th></tr></thead>
    <tbody>${ready.components.map((name) => html`<tr><td>${name}</td>
      <td class="number ${(facts.components?.[name] ?? 0) < 0 ? 'bad' : (facts.components?.[name] ?? 0) > 0 ? 'good' : ''}">${figure(facts.components?.[name] ?? 0)}</td>
      <td class="number" data-part=${name}>${figure(facts.totals?.[name] ?? 0)}</td></tr>`)}</tbody></table></section>`;
}

export function episodes({ played }) {
  if (!played.length) return nothing;
  return html`<section class="card"><h2 class="first">Episodes</h2><div class="scroll"><table class="played">
    <thead><tr><th>episode</th><th class="number">return</th><th class="number">steps</th><th>end</th><th>kept</th></tr></thead>
    <tbody>${played.map((episode) => html`<tr><td>${episode.number}</td><td class="number">${figure(episode.raw_return)}</td>
      <td class="number">${episode.length}</td><td>${episode.end}</td><td>${episode.kept ? html`<span title=${episode.kept}>yes</span>` : '–'}</td></tr>`)}
    </tbody></table></div></section>`;
}
