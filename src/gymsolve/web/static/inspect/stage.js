// The picture of the state under the cursor, and the way through the episode.
import { html, render } from '../vendor/lit-html.js';
import { newest } from './newest.js';

const SPEEDS = [['0.25', '¼×'], ['0.5', '½×'], ['1', '1×'], ['2', '2×'], ['4', '4×'], ['16', '16×']];

export const stage = {
  id: 'stage',
  title: 'Episode',
  side: 'left',
  make(element, view) {
    let speed = 1;
    let timer = 0;
    let closed = false;
    let canvas = null;

    function draw() {
      const { episode, state } = view;
      const last = Math.max(0, episode.states - 1);
      render(html`
        ${episode.hasFrames
          ? html`<canvas class="frame" role="img" aria-label=${`What the camera saw in state ${state}`}></canvas>`
          : html`<p class="soft">This environment has no picture: look at the observation.</p>`}
        <label class="scrub">State <output>${state}</output> of ${last}${episode.facts.state === 'playing' ? ' …' : ''}
          <input type="range" min="0" max=${last} .value=${String(state)} @input=${(event) => view.goto(Number(event.target.value))}></label>
        <div class="row transport">
          <button type="button" aria-label="To the start" @click=${() => view.goto(0)}>|◀</button>
          <button type="button" aria-label="A step back" @click=${() => view.goto(view.state - 1)}>◀</button>
          <button type="button" aria-pressed=${timer ? 'true' : 'false'} @click=${toggle}>${timer ? 'Pause' : 'Play'}</button>
          <button type="button" aria-label="A step on" @click=${() => view.goto(view.state + 1)}>▶</button>
          <button type="button" aria-label="To the end" @click=${() => view.goto(last)}>▶|</button>
          <label>Speed <select @change=${(event) => { speed = Number(event.target.value); }}>
            ${SPEEDS.map(([value, text]) => html`<option value=${value} .selected=${Number(value) === speed}>${text}</option>`)}</select></label>
        </div>
        ${(episode.facts.notes ?? []).map((note) => html`<p class="soft small">${note.replace(/\.?$/, '.')}</p>`)}
        <p class="soft small"><kbd>←</kbd> <kbd>→</kbd> a step, with <kbd>Shift</kbd> ten; <kbd>Home</kbd> <kbd>End</kbd>; <kbd>Space</kbd> plays.</p>
        `, element);
      canvas = element.querySelector('canvas.frame');
    }

    const drawing = newest(async (state) => {
      const { episode } = view;
      episode.pictures.expect(state);
      const frame = await episode.frame(state).catch(() => null);
      if (closed || episode !== view.episode || !canvas) return;
      if (!frame) {
        canvas.getContext('2d').clearRect(0, 0, canvas.width, canvas.height);
        return;
      }
      if (canvas.width !== frame.width || canvas.height !== frame.height) Object.assign(canvas, { width: frame.width, height: frame.height });
      canvas.getContext('2d').drawImage(frame, 0, 0);
      const { encoded, decoded } = episode.pictures.kept;
      Object.assign(canvas.dataset, { state, encoded, decoded });
    });

    function toggle() {
      if (timer) stop();
      else {
        if (view.state >= view.episode.states - 1) view.goto(0);
        let before = performance.now();
        let owed = 0;
        timer = requestAnimationFrame(function tick(now) {
          owed += Math.min(0.25, (now - before) / 1000) * view.episode.facts.fps * speed;
          before = now;
          const steps = Math.floor(owed);
          owed -= steps;
          for (let i = 0; i < steps && timer; i += 1) {
            if (view.state >= view.episode.states - 1) stop();
            else {
              view.goto(view.state + 1);
              if (view.isBreak?.(view.state)) stop();
            }
          }
          if (timer) timer = requestAnimationFrame(tick);
        });
      }
      draw();
    }

    function stop() {
      cancelAnimationFrame(timer);
      timer = 0;
      draw();
    }

    draw();
    return {
      toggle,
      show(state) {
        draw();
        if (view.episode.hasFrames) drawing(state);
      },
      close() {
        closed = true;
        cancelAnimationFrame(timer);
        timer = 0;
      },
    };
  },
};
