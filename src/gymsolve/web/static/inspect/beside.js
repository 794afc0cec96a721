// Episodes side by side at one cursor: a picture of each, and the numbers of the step.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { Episode } from './episode.js';

/** Stored episodes in an element; `set([{title, name}])` opens them, `show(state)` moves all of them. */
export function beside(element, view) {
  let opened = [];
  let asked = 0;
  let shown = 0;

  function draw() {
    render(html`<div class="beside">${opened.map(({ title, episode }, at) => {
      const state = Math.min(shown, Math.max(0, episode.states - 1));
      const over = shown >= episode.steps;
      return html`<figure><figcaption><b>${title}</b> <span class="soft">state ${state}${
        over ? `, over (${episode.facts.end ?? 'cut'})` : ''}</span></figcaption>
        ${episode.hasFrames ? html`<canvas class="frame" role="img" data-beside=${at} aria-label=${`${title}: what the camera saw in state ${state}`}></canvas>` : nothing}
        <p class="small"><b data-beside-label=${at}>${over ? '' : episode.label(state)}</b>
          <span class="soft">value</span> ${short(episode.at('value', state))}
          <span class="soft">return so far</span> ${short(state ? episode.at('raw_return', Math.min(state, episode.steps) - 1) : 0)}</p></figure>`;
    })}</div>`, element);
    opened.forEach(({ episode }, at) => paint(at, episode));
  }

  async function paint(at, episode) {
    const canvas = element.querySelector(`canvas[data-beside="${at}"]`);
    if (!canvas) return;
    const state = Math.min(shown, episode.states - 1);
    const picture = await episode.frame(state).catch(() => null);
    if (!picture || Math.min(shown, episode.states - 1) !== state || opened[at]?.episode !== episode) return;
    Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext('2d').drawImage(picture, 0, 0);
    canvas.dataset.state = state;
  }

  return {
    get episodes() { return opened.map((side) => side.episode); },
    async set(wanted) {
      asked += 1;
      const turn = asked;
      const sides = await Promise.all(wanted.map(async ({ title, name }) => (
        { title, own: name === view.episode.name, episode: name === view.episode.name ? view.episode : await Episode.open(view.run.run, name) })));
      if (turn !== asked) return;
      close();
      opened = sides;
      shown = view.state;
      draw();
    },
    show(state) {
      shown = state;
      if (opened.length) draw();
    },
    close() { asked += 1; close(); },
  };

  function close() {
    for (const { own, episode } of opened) if (!own) episode.close();
    opened = [];
  }
}
