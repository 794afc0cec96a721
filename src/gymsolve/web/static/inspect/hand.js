// A person's hand in the middle of an episode: a key is a step; then the policy goes on.
import { Keys, shownKey } from '../play/keys.js';
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';

/** Show where the person is; `done(drop)` when the policy gets it back, or nothing is to come of it. */
export function hand(element, view, begun, done) {
  const { bindings } = begun.controls;
  const keys = new Keys(view.episode.facts.env_id, begun.controls, () => {});
  const down = new Set();
  let now = begun.hand;
  let picture = begun.blob;
  let busy = false;

  async function step(pressed) {
    if (busy || now.over) return;
    busy = true;
    try {
      const answer = await view.desk.ask('press', { pressed });
      now = answer.hand;
      picture = answer.blob;
    } catch (error) {
      view.fail(error);
    }
    busy = false;
    draw();
  }

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code === 'Escape') { done(false); return; }
    const name = keys.nameOf(event.code);
    if (name === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    down.delete(name);
    down.add(name);
    step([...down]);
  }

  function release(event) {
    down.delete(keys.nameOf(event.code));
  }

  function draw() {
    const where = now.over ? 'The episode is over.' : `You are in step ${now.step}; you took over in step ${now.begun}.`;
    const labels = bindings.filter((binding) => binding.keys.length || binding.label);
    render(html`<div class="hand-stage" tabindex="0" role="application" aria-label="Your steps: press keys here"
        @keydown=${press} @keyup=${release} @blur=${() => down.clear()}>
        <p><b data-hand=${now.step}>${where}</b> <span class="soft">last action</span> ${now.label || '–'}
          <span class="soft">reward</span> ${short(now.reward)} <span class="soft">return</span> ${short(now.raw_return)}</p>
        ${picture?.byteLength ? html`<canvas class="frame" role="img" aria-label=${`State ${now.step}, after your steps`}></canvas>` : numbers()}
        <div class="row">${labels.map((binding, at) => html`<button type="button" data-key=${at} ?disabled=${now.over}
          @click=${() => step(binding.keys.length ? binding.keys : [])}>${binding.label} ${binding.keys.map((key) => html`<kbd>${shownKey(key)}</kbd> `)}</button>`)}</div>
        <div class="row"><button type="button" class="main" data-do="give-back" @click=${() => done(false)}>Give back to the policy <kbd>Esc</kbd></button>
          <button type="button" class="quiet" @click=${() => done(true)}>Drop it</button>
          <span class="soft small">A key is a step; hold it for more.</span></div></div>`, element);
    paint();
  }

  function numbers() {
    return html`<p class="code">${Object.entries(now.obs).map(([key, values]) => html`${key}: ${[values].flat(4).map(short).join(', ')} `)}</p>`;
  }

  async function paint() {
    if (!picture?.byteLength) return;
    const bitmap = await createImageBitmap(new Blob([picture], { type: 'image/jpeg' }));
    const canvas = element.querySelector('canvas');
    if (!canvas) return;
    Object.assign(canvas, { width: bitmap.width, height: bitmap.height });
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
  }

  draw();
  element.querySelector('.hand-stage').focus();
  return {
    close(drop) {
      render(nothing, element);
      if (drop) view.desk.ask('give_back', { drop: true }).catch(() => {});
    },
  };
}
