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
      const whole = view.run.episodes.filter((episode) => episode.state !== 'playing');
      const { facts } = view.episode;
      return only ? whole.filter((episode) => episode.checkpoint === facts.checkpoint && episode.deterministic === facts.deterministic && episode.role === facts.role) : whole;
    }

    function draw() {
      const shown = listed();
      const ranked = shown.filter((episode) => episode.return !== null && episode.return !== undefined && episode.state === 'whole' && !episode.parent).sort((a, b) => a.return - b.return);
      const middle = ranked[Math.floor((ranked.length - 1) / 2)];
      const jump = (name, episode) => html`<button type="button" ?disabled=${!episode} @click=${() => view.open(episode.name).catch(view.fail)}>${name}${
        episode ? html` <span class="soft">${short(episode.return)}</span>` : nothing}</button>`;
      render(html`<div class="row">${jump('Worst', ranked[0])}${jump('Median', middle)}${jump('Best', ranked.at(-1))}
          <label><input type="checkbox" .checked=${only} @change=${(event) => { only = event.target.checked; draw(); }}>
            only this checkpoint, actions chosen like this</label></div>
        <div class="scroll tall" tabindex="0" role="region" aria-label="Inspected episodes"><table>
          <thead><tr><th class="number">checkpoint</th><th class="number">seed</th><th>actions</th><th class="number">steps</th><th class="number">return</th><th>end</th><th></th></tr></thead>
          <tbody>${shown.map((episode) => html`<tr class=${episode.name === view.episode.name ? 'here' : ''}>
            <td class="number">${episode.checkpoint}</td><td class="number">${episode.seed}</td>
            <td>${episode.deterministic ? 'likeliest' : 'sampled'}${episode.role === 'train' ? ', as trained' : ''}${episode.parent ? ', branch' : ''}</td>
            <td class="number">${episode.length ?? episode.states}</td><td class="number">${short(episode.return)}</td>
            <td>${episode.state === 'stopped' ? 'stopped' : ENDS[episode.end] ?? '–'}</td>
            <td><button type="button" class="quiet" aria-label=${`Open the episode of seed ${episode.seed}, checkpoint ${episode.checkpoint}`}
              @click=${() => view.open(episode.name).catch(view.fail)}>open</button></td></tr>`)}</tbody></table></div>`, element);
    }

    draw();
    return { show() {}, grow: draw };
  },
};
