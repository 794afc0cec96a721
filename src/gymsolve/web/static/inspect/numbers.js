// The numbers of the step under the cursor.
import { short } from '../chart.js';
import { html, render } from '../vendor/lit-html.js';

const NAMES = [
  ['reward_seen', 'reward'], ['raw_return', 'return so far'], ['value', 'value'], ['advantage', 'advantage'],
  ['td_error', 'TD error'], ['return_to_go', 'return-to-go'], ['entropy', 'entropy'], ['log_prob', 'log-probability'],
  ['memory_norm', 'memory, norm'], ['memory_change', 'memory, change'],
];

export const numbersPanel = {
  id: 'numbers',
  title: 'This step',
  make(element, view) {
    return {
      show(state) {
        const { episode } = view;
        const over = state >= episode.steps;
        const tiles = NAMES.map(([name, title]) => [name, title, episode.at(name, state)])
          .filter(([name, , value]) => value !== null || !name.startsWith('memory'));
        const lives = episode.at('lives', state);
        render(html`<p class="action"><span class="soft">${over ? ending(episode) : 'action'}</span>
            <b data-number="label">${over ? '' : episode.label(state)}</b>
            ${!over && episode.at('forced', state) ? html`<span class="badge calm">forced</span>` : ''}</p>
          <div class="tiles">${tiles.map(([name, title, value]) => html`<div class="tile"><b data-number=${name} title=${value ?? ''}>${
            short(value)}</b><span>${title}</span></div>`)}
          ${episode.spec.components.map((name) => html`<div class="tile"><b data-number=${`reward/${name}`}>${
            short(component(episode, name, state))}</b><span>${name}</span></div>`)}
          ${lives !== null && lives >= 0 ? html`<div class="tile"><b>${lives}</b><span>lives after it</span></div>` : ''}</div>`, element);
      },
    };
  },
};

function component(episode, name, state) {
  if (state >= episode.steps) return null;
  return episode.vector('components', state)[episode.spec.components.indexOf(name)];
}

function ending(episode) {
  const { end, state } = episode.facts;
  if (state === 'playing') return 'the newest state: still playing';
  return { terminated: 'the end: the task ended it', truncated: 'the end: a time limit cut it', cut: 'cut here: nothing ended it' }[end] ?? 'the end';
}
