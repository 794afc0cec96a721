// The episodes of this run that were inspected, and the way to the worst, the median and the best.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';

const ENDS = { terminated: 'ended', truncated: 'time limit', cut: 'cut' };

export const episodes = {
  id: 'episodes',
  title: 'Inspected episodes',
  wide: true,
  make(element, view) {
    let only = true;

    function listed() {
      const whole = view.run.episodes.filter((one) => one.state !== 'playing');
      const { facts } = view.episode;
      return only ? whole.filter((one) => one.checkpoint === facts.checkpoint && one.deterministic === facts.deterministic && one.role === facts.role) : whole;
    }

    function draw() {
      const shown = listed();
      const ranked = shown.filter((one) => one.return !== null && one.return !== undefined && one.state === 'whole' && !one.parent).sort((a, b) => a.return - b.return);
      const middle = ranked[Math.floor((ranked.length - 1) / 2)];
      const jump = (name, one) => html`<button type="button" ?disabled=${!one} @click=${() => view.open(one.name).catch(view.fail)}>${name}${
        one ? html` <span class="soft">${short(one.return)}</span>` : nothing}</button>`;
      render(html`<div class="row">${jump('Worst', ranked[0])}${jump('Median', middle)}${jump('Best', ranked.at(-1))}
          <label><input type="checkbox" .checked=${only} @change=${(event) => { only = event.target.checked; draw(); }}>
            only this checkpoint, actions chosen like this</label></div>
        <div class="scroll tall" tabindex="0" role="region" aria-label="Inspected episodes"><table>
          <thead><tr><th class="number">checkpoint</th><th class="number">seed</th><th>actions</th><th class="number">steps</th><th class="number">return</th><th>end</th><th></th></tr></thead>
          <tbody>${shown.map((one) => html`<tr class=${one.name === view.episode.name ? 'here' : ''}>
            <td class="number">${one.checkpoint}</td><td class="number">${one.seed}</td>
            <td>${one.deterministic ? 'likeliest' : 'sampled'}${one.role === 'train' ? ', as trained' : ''}${one.parent ? ', branch' : ''}</td>
            <td class="number">${one.length ?? one.states}</td><td class="number">${short(one.return)}</td>
            <td>${one.state === 'stopped' ? 'stopped' : ENDS[one.end] ?? '–'}</td>
            <td><button type="button" class="quiet" aria-label=${`Open the episode of seed ${one.seed}, checkpoint ${one.checkpoint}`}
              @click=${() => view.open(one.name).catch(view.fail)}>open</button></td></tr>`)}</tbody></table></div>`, element);
    }

    draw();
    return { show() {}, grow: draw };
  },
};
