// Arrays as pictures: grids of maps, one hue for what is only positive, two for what has a sign.
import { colour } from '../shell.js';

/** Float32 arrays of a message, by name: {name: {shape, values}}. */
export function unpackArrays({ arrays, blob }) {
  const unpacked = {};
  for (const { name, shape, at } of arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    unpacked[name] = { shape, values: new Float32Array(blob.slice(at, at + 4 * count).buffer) };
  }
  return unpacked;
}

export function largest(values) {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

/** Red, green and blue of a colour of the theme. */
function rgb(name) {
  const pen = new OffscreenCanvas(1, 1).getContext('2d');
  pen.fillStyle = colour(name);
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}

/** Paint maps [count, height, width] into one canvas, `across` beside each other, a pixel apart. */
export function paintMaps(canvas, values, count, height, width, { across = 8, signed = false, marked = () => false } = {}) {
  const columns = Math.max(1, Math.min(across, count));
  const rows = Math.ceil(count / columns);
  const image = new ImageData(columns * (width + 1) - 1, rows * (height + 1) - 1);
  const [up, downward, ground, dead] = [rgb('c1'), rgb('c0'), rgb('code'), rgb('bad')];
  const scale = 1 / (largest(values) || 1);
  for (let map = 0; map < count; map += 1) {
    const [top, left] = [Math.floor(map / columns) * (height + 1), (map % columns) * (width + 1)];
    const hue = marked(map) ? dead : null;
    for (let i = 0; i < height * width; i += 1) {
      const value = values[map * height * width + i] * scale;
      const tone = value < 0 && signed ? downward : signed ? up : downward;
      const share = hue ? 0.35 : Math.sqrt(Math.min(1, Math.abs(value)));
      const place = 4 * ((top + Math.floor(i / width)) * image.width + left + (i % width));
      for (let c = 0; c < 3; c += 1) image.data[place + c] = ground[c] + ((hue ?? tone)[c] - ground[c]) * share;
      image.data[place + 3] = 255;
    }
  }
  Object.assign(canvas, { width: image.width, height: image.height });
  canvas.getContext('2d').putImageData(image, 0, 0);
}

/** Lay a map [rows, columns] over a grey picture; `stride` pixels belong to a cell. */
export function paintOver(canvas, grey, height, width, map, rows, columns, stride, signed) {
  const image = new ImageData(width, height);
  const [up, downward] = [rgb('c1'), rgb('c0')];
  const scale = 1 / (largest(map) || 1);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const cell = Math.min(rows - 1, Math.floor(y / stride)) * columns + Math.min(columns - 1, Math.floor(x / stride));
      const value = map[cell] * scale;
      const tone = signed && value < 0 ? downward : up;
      const share = Math.min(1, Math.abs(value)) ** 0.7;
      const base = 40 + 0.6 * grey[y * width + x];
      const place = 4 * (y * width + x);
      for (let c = 0; c < 3; c += 1) image.data[place + c] = base + (tone[c] - base) * share;
      image.data[place + 3] = 255;
    }
  }
  Object.assign(canvas, { width, height });
  canvas.getContext('2d').putImageData(image, 0, 0);
}
