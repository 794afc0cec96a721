// Pictures around the cursor: fetched in blocks, decoded when shown, and only so many kept.

import { getBytes } from '../api.js';

const BLOCK = 16;
const KEPT_BLOCKS = 48;
const KEPT_PICTURES = 24;
const REST = 120;

/** What the camera saw, by state. */
export class Pictures {
  /** `address(from, to)` gives where pictures are; `count()` how many there are by now. */
  constructor(address, count) {
    this._address = address;
    this._count = count;
    this._blocks = new Map();
    this._shown = new Map();
    this._last = 0;
  }

  /** How much is held: encoded and decoded pictures. */
  get kept() {
    return { encoded: this._blocks.size * BLOCK, decoded: this._shown.size };
  }

  /** The picture of a state as an ImageBitmap; null where there is none. */
  async get(state) {
    const held = this._shown.get(state);
    if (held) {
      touch(this._shown, state, held);
      return held;
    }
    const number = Math.floor(state / BLOCK);
    const alone = this._leaping && !this._blocks.has(number);
    const raw = alone ? (await fetchParts(this._address(state, state + 1)))[0] : (await this._block(number))[state % BLOCK];
    if (!raw?.byteLength) return null;
    const picture = await createImageBitmap(new Blob([raw], { type: 'image/jpeg' }));
    touch(this._shown, state, picture);
    trim(this._shown, KEPT_PICTURES, (old) => old.close());
    return picture;
  }

  /** Fetch what will be asked for next, going by where the cursor came from; after a leap, once it rests. */
  expect(state) {
    const ahead = state >= this._last ? 1 : -1;
    this._leaping = Math.abs(state - this._last) > 2 * BLOCK;
    this._last = state;
    clearTimeout(this._resting);
    if (this._leaping) this._resting = setTimeout(() => this._around(state, ahead), REST);
    else this._around(state, ahead);
  }

  _around(state, ahead) {
    for (const more of [0, ahead, 2 * ahead, -ahead]) {
      const block = Math.floor(state / BLOCK) + more;
      if (block >= 0 && block * BLOCK < this._count()) this._block(block).catch(() => {});
    }
  }

  _block(number) {
    const held = this._blocks.get(number);
    const wanted = Math.min(BLOCK, this._count() - number * BLOCK);
    if (held && held.wanted >= wanted) {
      touch(this._blocks, number, held);
      return held.promise;
    }
    const promise = fetchParts(this._address(number * BLOCK, (number + 1) * BLOCK));
    promise.catch(() => this._blocks.delete(number));
    touch(this._blocks, number, { promise, wanted });
    trim(this._blocks, KEPT_BLOCKS, () => {});
    return promise;
  }

  close() {
    clearTimeout(this._resting);
    for (const picture of this._shown.values()) picture.close();
    this._shown.clear();
    this._blocks.clear();
  }
}

/** Several pieces of bytes in one answer: how many, the length of each, then one after another. */
export async function fetchParts(address) {
  const buffer = await getBytes(address);
  const view = new DataView(buffer);
  const count = view.getUint32(0, true);
  const parts = [];
  let at = 4 + 4 * count;
  for (let i = 0; i < count; i += 1) {
    const length = view.getUint32(4 + 4 * i, true);
    parts.push(new Uint8Array(buffer, at, length));
    at += length;
  }
  return parts;
}

/** Bytes that zlib has compressed. */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function touch(map, key, value) {
  map.delete(key);
  map.set(key, value);
}

function trim(map, most, drop) {
  while (map.size > most) {
    const [key, value] = map.entries().next().value;
    map.delete(key);
    drop(value);
  }
}
