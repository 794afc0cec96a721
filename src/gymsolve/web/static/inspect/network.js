// What a network looks at: where its answers would move, what its layers give, which channels are dead.
import { short } from '../chart.js';
import { onTheme } from '../shell.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { largest, paintMaps, paintOver, unpackArrays } from './heat.js';

const WAYS = { occlusion: 'Cover a part of it', gradient: 'Slope of the answer', layers: 'What its layers give', filters: 'First filters', dead: 'Dead channels' };
const MOST_BARS = 64;

export const network = {
  id: 'network',
  title: 'What the network looks at',
  wide: true,
  make(element, view) {
    let way = 'occlusion';
    let answer = 'action';
    let layer = '';
    let channel = 0;
    let follow = false;
    let busy = '';
    let about = null;
    let looked = null;
    let dead = null;
    let at = -1;
    let waiting = 0;
    let closed = false;

    const ask = (what, more = {}) => view.desk.ask('look', { episode: view.episode.name, what, ...more });

    async function look() {
      const state = view.state;
      busy = about ? 'Looking …' : 'Loading the network …';
      draw();
      try {
        if (!about) {
          const answered = await ask('network');
          about = { ...answered, arrays: unpackArrays(answered) };
          layer = about.layers[0]?.name ?? '';
        }
        if (way === 'dead' && !dead) {
          const answered = await ask('dead');
          dead = { ...answered, arrays: unpackArrays(answered) };
        } else if (way === 'layers') {
          const answered = await ask('layer', { state, layer });
          looked = { ...answered, arrays: unpackArrays(answered), way };
        } else if (way === 'occlusion' || way === 'gradient') {
          const answered = await ask('saliency', { state });
          looked = { ...answered, arrays: unpackArrays(answered), way: 'saliency' };
        }
        at = state;
      } catch (error) {
        view.fail(error);
      }
      busy = '';
      if (!closed) draw();
    }

    function change(name) {
      way = name;
      draw();
      if (about) look();
    }

    function draw() {
      if (closed) return;
      const stale = about && at !== view.state && (way === 'occlusion' || way === 'gradient' || way === 'layers');
      render(html`<p class="soft small">This explores; it does not explain. A place that lights up is one where the answer would move,
          not the reason for it. To test an idea, force another action and look at what comes of it.</p>
        <div class="row"><label>Look at <select data-way @change=${(event) => change(event.target.value)}>
            ${Object.entries(WAYS).map(([name, label]) => html`<option value=${name} .selected=${name === way}>${label}</option>`)}</select></label>
          ${way === 'occlusion' || way === 'gradient' ? html`<label>for <select data-answer @change=${(event) => { answer = event.target.value; draw(); }}>
            <option value="action" .selected=${answer === 'action'}>the action taken (log-probability)</option>
            <option value="value" .selected=${answer === 'value'}>the value</option></select></label>` : nothing}
          ${way === 'layers' && about ? html`<label>Layer <select @change=${(event) => { layer = event.target.value; look(); }}>
            ${about.layers.map((other) => html`<option value=${other.name} .selected=${other.name === layer}>${title(other)}</option>`)}</select></label>` : nothing}
          <button type="button" class="main" data-do="look" ?disabled=${Boolean(busy)} @click=${look}>Look</button>
          <label><input type="checkbox" .checked=${follow} @change=${(event) => { follow = event.target.checked; if (follow) look(); }}> follow the cursor</label>
          <span class="soft small" role="status">${busy || (stale ? `shown: state ${at}; the cursor is at ${view.state}` : '')}</span></div>
        ${about ? body() : nothing}`, element);
      if (about) paint().catch(view.fail);
    }

    function body() {
      if (way === 'filters') return filters();
      if (way === 'dead') return dead ? deadTable() : nothing;
      if (way === 'layers') return looked?.way === 'layers' ? layerMaps() : nothing;
      if (looked?.way !== 'saliency') return nothing;
      const meaning = answer === 'action'
        ? html`<p>Log-probability of <b>${looked.label || 'what it would do'}</b>: <b data-log-prob=${looked.log_prob}>${short(looked.log_prob)}</b></p>`
        : html`<p>Value: <b data-value=${looked.value}>${short(looked.value)}</b></p>`;
      return html`${meaning}${about.entries.map((entry) => html`<div data-entry=${entry.key}>
        ${about.entries.length > 1 ? html`<h3>${entry.key}</h3>` : nothing}${saliency(entry)}</div>`)}
        <p class="soft small">${way === 'occlusion'
          ? 'Orange: without this part the answer falls by so much, so it speaks for it. Blue: without it the answer rises. A patch is covered by the median of the picture, a number by its usual value.'
          : 'How much the answer would move for one unit as the network takes it: the whole range of a pixel, the running spread of a number. Pictures show its size.'}</p>`;
    }

    function saliency(entry) {
      const arrays = looked.arrays[`${way}/${answer}/${entry.key}`];
      if (!arrays) return html`<p class="soft">Categories have no slope, and nothing to cover them with.</p>`;
      const most = largest(arrays.values);
      if (entry.kind === 'image') {
        const frames = way === 'gradient' ? stack(entry) : 1;
        return html`<div class="stack">${Array.from({ length: frames }, (_, frame) => html`<figure><figcaption class="soft">${
          frames > 1 ? `frame ${frame + 1} of ${frames}` : 'on the newest frame'}</figcaption>
          <canvas class="pixels look" role="img" data-over=${entry.key} data-frame=${frame}
            aria-label=${`${WAYS[way]}, ${answer}, over ${entry.key}${frames > 1 ? `, frame ${frame + 1}` : ''}`}></canvas></figure>`)}</div>
          <p class="small"><span class="soft">strongest</span> <b data-strongest=${most}>${short(most)}</b></p>`;
      }
      const order = Array.from(arrays.values, (value, place) => [value, place]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, MOST_BARS);
      return html`<div class="bars">${order.map(([value, place]) => html`<div class="bar signed" data-number=${place} data-slope=${value}>
        <span class="name">${entry.names[place] || `number ${place}`}</span>
        <span class="track"><span class=${`fill ${value < 0 ? 'down' : 'up'}`} data-share=${Math.abs(value) / (most || 1)}></span></span>
        <span class="number">${short(value)}</span></div>`)}</div>`;
    }

    const stack = (entry) => (entry.shape[0] % view.episode.facts.frame_stack === 0 ? view.episode.facts.frame_stack : 1);

    function layerMaps() {
      const { shape, values } = looked.arrays.layer;
      const active = dead?.arrays[`active/${looked.layer}`]?.values;
      const silent = shape.length === 3 ? count(shape[0], (map) => !values.subarray(map * shape[1] * shape[2], (map + 1) * shape[1] * shape[2]).some(Boolean)) : count(shape[0], (unit) => !values[unit]);
      return html`<canvas class="pixels maps" role="img" data-maps aria-label=${`${shape[0]} maps of ${looked.layer} in state ${at}`}></canvas>
        <p class="soft small">${shape.join(' × ')}; strongest ${short(largest(values))}; ${silent} of ${shape[0]} give nothing here${
          active ? `, ${count(shape[0], (map) => !active[map])} in the whole episode (red)` : ''}.</p>`;
    }

    function filters() {
      if (!about.filters.length) return html`<p class="soft">This network has no convolutions: its first layer reads numbers.</p>`;
      return about.filters.map((bank) => {
        const [outputs, channels, height, width] = about.arrays[bank.array].shape;
        return html`<h3>${bank.entry}${bank.side === 'both' ? '' : `, ${bank.side}`}</h3>
          ${channels > 1 ? html`<label>Input channel <input class="short" type="number" min="0" max=${channels - 1} .value=${String(Math.min(channel, channels - 1))}
            @input=${(event) => { channel = Math.max(0, Number(event.target.value) || 0); draw(); }}></label>` : nothing}
          <canvas class="pixels maps" role="img" data-filters=${bank.array} aria-label=${`${outputs} filters of ${height} by ${width} pixels`}></canvas>
          <p class="soft small">${outputs} filters, ${height} × ${width} pixels of ${channels} channels. Orange adds, blue takes away.</p>`;
      });
    }

    function deadTable() {
      return html`<div class="scroll" tabindex="0" role="region" aria-label="Dead channels by layer"><table><thead><tr><th>layer</th><th class="number">channels or units</th><th class="number">dead</th><th>which</th></tr></thead>
        <tbody>${about.layers.map((other) => {
          const active = dead.arrays[`active/${other.name}`].values;
          const which = Array.from(active.keys()).filter((unit) => active[unit] === 0);
          return html`<tr><td>${title(other)}</td><td class="number">${active.length}</td><td class="number" data-dead=${which.length}>${which.length}</td>
            <td class="soft">${which.slice(0, 40).join(', ')}${which.length > 40 ? ' …' : ''}</td></tr>`;
        })}</tbody></table></div><p class="soft small">Dead: zero in each of ${dead.states} states of this episode. Another episode may wake it.</p>`;
    }

    async function paint() {
      for (const fill of element.querySelectorAll('.fill[data-share]')) fill.style.width = `${100 * Number(fill.dataset.share)}%`;
      for (const canvas of element.querySelectorAll('canvas[data-filters]')) {
        const { shape: [outputs, channels, height, width], values } = about.arrays[canvas.dataset.filters];
        const size = height * width;
        const chosen = Math.min(channel, channels - 1);
        const maps = new Float32Array(outputs * size);
        for (let filter = 0; filter < outputs; filter += 1) maps.set(values.subarray((filter * channels + chosen) * size, (filter * channels + chosen + 1) * size), filter * size);
        paintMaps(canvas, maps, outputs, height, width, { across: 16, signed: true });
      }
      const maps = element.querySelector('canvas[data-maps]');
      if (maps) {
        const { shape, values } = looked.arrays.layer;
        const active = dead?.arrays[`active/${looked.layer}`]?.values;
        const [height, width] = shape.length === 3 ? shape.slice(1) : [1, 1];
        paintMaps(maps, values, shape[0], height, width, { across: shape.length === 3 ? 16 : 32, signed: values.some((value) => value < 0), marked: (map) => active?.[map] === 0 });
      }
      for (const canvas of element.querySelectorAll('canvas[data-over]')) await paintSaliency(canvas);
    }

    async function paintSaliency(canvas) {
      const entry = about.entries.find((other) => other.key === canvas.dataset.over);
      const [channels, height, width] = entry.shape;
      const frames = await view.episode.planes(entry.key, at);
      const arrays = looked.arrays[`${way}/${answer}/${entry.key}`];
      if (!arrays || !canvas.isConnected) return;
      const frame = way === 'gradient' ? Number(canvas.dataset.frame) : frames.length - 1;
      const base = grey(view.episode.spec.obs[entry.key], frames[Math.min(frame, frames.length - 1)], height * width);
      if (way === 'occlusion') {
        paintOver(canvas, base, height, width, arrays.values, arrays.shape[0], arrays.shape[1], looked.strides[entry.key], true);
        return;
      }
      const each = channels / stack(entry);
      const sizes = new Float32Array(height * width);
      for (let c = frame * each; c < (frame + 1) * each; c += 1) {
        for (let i = 0; i < sizes.length; i += 1) sizes[i] += Math.abs(arrays.values[c * sizes.length + i]);
      }
      paintOver(canvas, base, height, width, sizes, height, width, 1, false);
    }

    onTheme(() => { if (!closed) draw(); });
    draw();
    return {
      show(state) {
        if (follow && state !== at && !busy) {
          clearTimeout(waiting);
          waiting = setTimeout(() => { if (!busy && !closed) look(); }, 120);
        }
        if (about) draw();
      },
      close() { closed = true; clearTimeout(waiting); },
    };
  },
};

function title({ name, shape }) {
  return `${name.replace(/entries\.\d+_/, '').replace(/\.stack\./, ' ')} · ${shape.join(' × ')}`;
}

function count(most, fits) {
  let hits = 0;
  for (let at = 0; at < most; at += 1) if (fits(at)) hits += 1;
  return hits;
}

/** The mean of a frame's channels, 0 to 255. */
function grey(entry, raw, size) {
  const values = entry.dtype === 'uint8' ? raw : new Float32Array(raw.buffer, raw.byteOffset, raw.byteLength / 4);
  const [low, high] = entry.low.length ? [entry.low[0], entry.high[0]] : [0, entry.dtype === 'uint8' ? 255 : 1];
  const channels = values.length / size;
  const plane = new Float32Array(size);
  for (let c = 0; c < channels; c += 1) for (let i = 0; i < size; i += 1) plane[i] += values[c * size + i];
  const most = entry.dtype === 'uint8' && high === 255 ? 1 : 255 / (high - low || 1);
  // Channels that are flags would fade when averaged: the brightest one is white.
  let peak = 0;
  for (let i = 0; i < size; i += 1) {
    plane[i] = (plane[i] / channels - low) * most;
    peak = Math.max(peak, plane[i]);
  }
  if (peak > 0 && peak < 255) for (let i = 0; i < size; i += 1) plane[i] *= 255 / peak;
  return plane;
}
