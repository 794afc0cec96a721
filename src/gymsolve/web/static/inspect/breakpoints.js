// Conditions to stop at, and the steps that stand out.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';

const MARKS = 3;

/** name → [words, has a number, what it starts with, hits(episode, step, x)] */
const CONDITIONS = {
  drop: ['the value drops by more than', 1, (episode, at, x) => at > 0 && episode.at('value', at - 1) - episode.at('value', at) > x],
  reward: ['the reward is below', 0, (episode, at, x) => episode.at('reward_seen', at) < x],
  gain: ['the reward is above', 0, (episode, at, x) => episode.at('reward_seen', at) > x],
  entropy: ['the entropy is below', 0.1, (episode, at, x) => episode.at('entropy', at) < x],
  action: ['the action is', null, (episode, at, x) => episode.label(at) === x],
  life: ['a life ends', undefined, (episode, at) => at > 0 && episode.at('lives', at) >= 0 && episode.at('lives', at) < episode.at('lives', at - 1)],
  forced: ['the action was forced', undefined, (episode, at) => episode.at('forced', at) > 0],
};

export const breakpoints = {
  id: 'breakpoints',
  title: 'Breakpoints and bookmarks',
  half: true,
  make(element, view) {
    let chosen = 'drop';
    let x = CONDITIONS.drop[1];
    let hits = [];
    let marks = [];

    function labels() {
      const { episode } = view;
      const names = new Set();
      for (let at = 0; at < Math.min(episode.steps, 5000) && names.size < 60; at += 1) names.add(episode.label(at));
      return [...names].sort();
    }

    function find() {
      const { episode } = view;
      const [, usual, fits] = CONDITIONS[chosen];
      const wanted = usual === null && !labels().includes(x) ? labels()[0] : x;
      if (usual === null) x = wanted;
      hits = [];
      for (let at = 0; at < episode.steps; at += 1) if (fits(episode, at, wanted)) hits.push(at);
      const all = new Set(hits);
      view.isBreak = hits.length ? (state) => all.has(state) : null;
      const advantages = episode.column('advantage');
      const order = Array.from(advantages ?? [], (value, at) => [value, at]).filter(([value]) => Number.isFinite(value)).sort((a, b) => a[0] - b[0]);
      marks = [...order.slice(-MARKS).reverse().filter(([value]) => value > 0), ...order.slice(0, MARKS).filter(([value]) => value < 0)];
    }

    function change(event) {
      chosen = event.target.value;
      x = CONDITIONS[chosen][1] === null ? labels()[0] : CONDITIONS[chosen][1];
      find();
      draw();
    }

    function step(forward) {
      const next = forward ? hits.find((at) => at > view.state) : hits.findLast((at) => at < view.state);
      if (next !== undefined) view.goto(next);
    }

    function draw() {
      const usual = CONDITIONS[chosen][1];
      render(html`<div class="row"><label>Where <select @change=${change}>${Object.entries(CONDITIONS).map(([name, [words]]) => html`<option
          value=${name} .selected=${name === chosen}>${words}</option>`)}</select></label>
        ${typeof usual === 'number' ? html`<input type="number" step="any" class="short" aria-label="Threshold" .value=${String(x)}
          @input=${(event) => { x = Number(event.target.value); find(); draw(); }}>` : nothing}
        ${usual === null ? html`<select aria-label="Action" @change=${(event) => { x = event.target.value; find(); draw(); }}>
          ${labels().map((name) => html`<option .selected=${name === x}>${name}</option>`)}</select>` : nothing}
        <button type="button" ?disabled=${!hits.some((at) => at < view.state)} @click=${() => step(false)}>Previous</button>
        <button type="button" ?disabled=${!hits.some((at) => at > view.state)} @click=${() => step(true)}>Next</button>
        <span class="soft small" data-hits=${hits.length}>${hits.length} of ${view.episode.steps} ${view.episode.steps === 1 ? 'step' : 'steps'}</span></div>
        <h3>Largest advantages</h3>
        <div class="row">${marks.map(([value, at]) => html`<button type="button" class=${value > 0 ? 'good' : 'bad'} @click=${() => view.goto(at)}>
          step ${at}: ${value > 0 ? '+' : ''}${short(value)}</button>`)}${marks.length ? nothing : html`<span class="soft">none</span>`}</div>`, element);
    }

    return {
      show: draw,
      grow() { find(); draw(); },
      close() { view.isBreak = null; },
    };
  },
};
