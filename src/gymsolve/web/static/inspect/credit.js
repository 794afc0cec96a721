// What advantages and returns would be under another discount, lambda or scale of rewards.
import { html, render } from '../vendor/lit-html.js';

export const credit = {
  id: 'credit',
  title: 'What if: another discount, lambda or reward scale',
  half: true,
  make(element, view) {
    const own = view.episode.facts.credit;
    const now = { gamma: own.gamma, gae_lambda: own.gae_lambda, reward_scale: own.reward_scale };
    let waiting = 0;

    function change(name, value) {
      if (!Number.isFinite(value)) return;
      now[name] = value;
      draw();
      clearTimeout(waiting);
      waiting = setTimeout(apply, 60);
    }

    async function apply() {
      const changes = Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== own[name]));
      const { episode } = view;
      try {
        await episode.value(changes);
        if (episode === view.episode) view.regrow();
      } catch (error) {
        view.fail(error);
      }
    }

    function slider(name, title, low, high, step) {
      const off = now[name] !== own[name];
      return html`<div class="knob"><label>${title} <input type="range" min=${low} max=${high} step=${step} .value=${String(now[name])}
          @input=${(event) => change(name, Number(event.target.value))}></label>
        <input type="number" step="any" class="short" aria-label=${`${title}, exact`} .value=${String(Number(now[name].toPrecision(6)))}
          @change=${(event) => change(name, Number(event.target.value))}>
        <span class="soft small">${off ? `the run: ${Number(own[name].toPrecision(6))}` : 'as the run'}</span></div>`;
    }

    function draw() {
      const top = 4 * own.reward_scale || 1;
      render(html`${slider('gamma', 'Discount γ', 0, 1, 0.001)}
        ${own.algo === 'reinforce' ? '' : slider('gae_lambda', 'GAE λ', 0, 1, 0.01)}
        ${slider('reward_scale', 'Reward scale', 0, top, top / 1000)}
        <div class="row"><button type="button" @click=${() => { Object.assign(now, { gamma: own.gamma, gae_lambda: own.gae_lambda, reward_scale: own.reward_scale }); draw(); apply(); }}>
          As the run</button><span class="soft small">Values stay those of the critic; advantages and returns are computed by the functions of training${
          own.algo === 'reinforce' ? ` (REINFORCE, baseline ${own.baseline})` : ` (${own.algo.toUpperCase()}: GAE)`}.</span></div>`, element);
    }

    draw();
    return { show() {}, close() { clearTimeout(waiting); } };
  },
};
