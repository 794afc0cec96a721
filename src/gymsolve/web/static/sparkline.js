// A curve so small that it fits into a line of a table.
import { html, nothing, svg } from './vendor/lit-html.js';
import { number } from './words.js';

const WIDTH = 110;
const HEIGHT = 26;

/** Points [x, y] as a line, with a dashed one at `level` where that is within sight. */
export function sparkline(points, level, what) {
  if (points.length < 2) return html`<span class="soft">–</span>`;
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const near = level !== null && level <= Math.max(...ys) + 1.5 * (Math.max(...ys) - Math.min(...ys));
  const seen = near ? [...ys, level] : ys;
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const x = (value) => (2 + ((value - left) / (right - left || 1)) * (WIDTH - 4)).toFixed(1);
  const y = (value) => (HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6)).toFixed(1);
  const line = points.map(([a, b]) => `${x(a)},${y(b)}`).join(' ');
  const label = `${what}: from ${number(ys[0])} to ${number(ys[ys.length - 1])}`;
  return html`<svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" width=${WIDTH} height=${HEIGHT} role="img" aria-label=${label}>
    ${near ? svg`<line x1="2" x2=${WIDTH - 2} y1=${y(level)} y2=${y(level)} />` : nothing}
    <polyline points=${line} /></svg>`;
}
