// What the policy saw: numbers raw and as the network takes them, and pictures frame by frame.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { newest } from './newest.js';

const MOST = 256;
const SEEN = 10; // rows that fit without scrolling

export const observation = {
  id: 'observation',
  title: 'Observation',
  make(element, view) {
    let closed = false;
    return {
      show: newest(async (state) => {
        const { episode } = view;
        try {
          const fields = await episode.wide(state);
          const entries = await Promise.all(Object.entries(episode.spec.obs).map(async ([key, entry]) => [
            key, entry, entry.kind === 'image' ? await episode.planes(key, state) : null]));
          if (closed || view.episode !== episode) return;
          render(entries.map(([key, entry, frames]) => html`<div data-entry=${key}>
            ${entries.length > 1 ? html`<h3>${key}</h3>` : nothing}
            ${frames ? pictures(episode, key, entry, frames, state) : numbers(episode, key, entry, fields)}</div>`), element);
          for (const [key, entry, frames] of entries) if (frames) paint(element, key, entry, frames);
        } catch (error) {
          if (!closed) view.fail(error);
        }
      }),
      close() { closed = true; },
    };
  },
};

/** A table of raw numbers and what the network makes of them. */
function numbers(episode, key, entry, fields) {
  const raw = fields[`obs/${key}`];
  const seen = fields[`seen/${key}`];
  const names = episode.facts.obs_names[key] ?? [];
  const rows = Array.from(raw.subarray(0, MOST), (value, at) => html`<tr><td>${names[at] || at}</td>
    <td class="number" data-raw=${value}>${entry.kind === 'discrete' ? value + (entry.start[at] ?? 0) : short(value)}</td>
    ${seen ? html`<td class="number" data-seen=${seen[at]}>${short(seen[at])}</td>` : html`<td class="soft">category of ${entry.nvec[at]}</td>`}</tr>`);
  return html`<div class="scroll tall" tabindex="0" role="region" aria-label=${`numbers of ${key}`}><table>
    <thead><tr><th>${names.length ? 'name' : 'number'}</th><th class="number">raw</th><th class=${seen ? 'number' : ''}>to the network</th></tr></thead>
    <tbody>${rows}</tbody></table></div>
    ${raw.length > SEEN ? html`<p class="soft small">${raw.length > MOST ? `the first ${MOST} of ${raw.length} numbers` : `${raw.length} numbers`}: scroll for the rest</p>` : nothing}`;
}

/** The frames of a stack, oldest first, each after the action that led to it. */
function pictures(episode, key, entry, frames, state) {
  const channels = entry.shape[0] / frames.length;
  const planes = channels === 3 ? 1 : channels;
  return html`<div class="stack">${frames.map((_, at) => {
    const when = state - (frames.length - 1) + at;
    const before = when <= 0 ? 'start' : `${choice(episode, when - 1)}${episode.label(when - 1)}`;
    return html`<figure><figcaption><span class="soft">after</span> <b>${before}</b></figcaption>
      ${Array.from({ length: planes }, (__, plane) => html`<canvas class="pixels" role="img" data-key=${key} data-frame=${at} data-plane=${plane}
        aria-label=${`${key}, frame ${at + 1} of ${frames.length}, after ${before}`}></canvas>`)}</figure>`;
  })}</div><p class="soft small">${entry.shape.join(' × ')} ${entry.dtype}, as the network gets it; scaled to 0–1 there.</p>`;
}

/** The number of a Discrete action, before its name. */
function choice(episode, step) {
  const { kind, start } = episode.spec.action;
  if (kind !== 'discrete') return '';
  const number = String(episode.vector('action', step)[0] + (start[0] ?? 0));
  return episode.label(step) === number ? '' : `${number} `;
}

function paint(element, key, entry, frames) {
  const [channels, height, width] = [entry.shape[0] / frames.length, entry.shape[1], entry.shape[2]];
  const [low, high] = entry.low.length ? [entry.low[0], entry.high[0]] : [0, entry.dtype === 'uint8' ? 255 : 1];
  const scale = 255 / (high - low || 1);
  for (const canvas of element.querySelectorAll('canvas.pixels')) {
    if (canvas.dataset.key !== key) continue;
    const raw = frames[Number(canvas.dataset.frame)];
    const values = entry.dtype === 'uint8' ? raw : new Float32Array(raw.buffer, raw.byteOffset, raw.byteLength / 4);
    const image = new ImageData(width, height);
    const size = width * height;
    const colour = channels === 3;
    const from = colour ? 0 : Number(canvas.dataset.plane) * size;
    for (let i = 0; i < size; i += 1) {
      for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = (values[from + i + (colour ? c * size : 0)] - low) * scale;
      image.data[4 * i + 3] = 255;
    }
    Object.assign(canvas, { width, height });
    canvas.getContext('2d').putImageData(image, 0, 0);
  }
}
