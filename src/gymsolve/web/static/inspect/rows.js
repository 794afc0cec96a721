// Rows of an episode: fields of fixed size, one after another, little endian (runs/inspections.py).

const READERS = {
  u1: [1, (view, at) => view.getUint8(at), Uint8Array],
  i4: [4, (view, at) => view.getInt32(at, true), Int32Array],
  i8: [8, (view, at) => Number(view.getBigInt64(at, true)), Float64Array],
  f4: [4, (view, at) => view.getFloat32(at, true), Float32Array],
  f8: [8, (view, at) => view.getFloat64(at, true), Float64Array],
  S64: [64, null, Uint8Array],
};

/** Places of the fields in a row: name → {kind, width, at, bytes}. */
export function layout(fields) {
  const places = new Map();
  let at = 0;
  for (const { name, kind, shape } of fields) {
    const width = shape.reduce((a, b) => a * b, 1);
    const bytes = READERS[kind][0] * width;
    places.set(name, { kind, width, at, bytes });
    at += bytes;
  }
  return places;
}

/** The numbers of one field in one row. */
export function numbers(buffer, start, place) {
  const [size, read, Kind] = READERS[place.kind];
  const view = new DataView(buffer);
  const values = new Kind(place.width);
  for (let i = 0; i < place.width; i += 1) values[i] = read(view, start + place.at + i * size);
  return values;
}

/** Columns that grow as rows come; each field has an array of width × rows. */
export class Columns {
  constructor(places, rowBytes) {
    this.rows = 0;
    this._room = 0;
    this._rowBytes = rowBytes;
    this._fields = [...places].filter(([, place]) => place.at + place.bytes <= rowBytes);
    this._arrays = new Map();
  }

  /** Take rows that follow those that are there. */
  add(buffer) {
    const count = Math.floor(buffer.byteLength / this._rowBytes);
    this._makeRoom(this.rows + count);
    const view = new DataView(buffer);
    const bytes = new Uint8Array(buffer);
    for (const [name, place] of this._fields) {
      const target = this._arrays.get(name);
      const [size, read] = READERS[place.kind];
      for (let row = 0; row < count; row += 1) {
        const start = row * this._rowBytes + place.at;
        const to = (this.rows + row) * (read ? place.width : size);
        if (!read) target.set(bytes.subarray(start, start + size), to);
        else for (let i = 0; i < place.width; i += 1) target[to + i] = read(view, start + i * size);
      }
    }
    this.rows += count;
  }

  has(name) { return this._arrays.has(name) || this._fields.some(([field]) => field === name); }

  /** A field of one number per row. */
  column(name) { return this._arrays.get(name)?.subarray(0, this.rows); }

  /** A field of several numbers, in one row. */
  vector(name, row) {
    const width = this._width(name);
    return this._arrays.get(name).subarray(row * width, (row + 1) * width);
  }

  text(name, row) {
    const raw = this._arrays.get(name).subarray(row * 64, (row + 1) * 64);
    const end = raw.indexOf(0);
    return new TextDecoder().decode(end < 0 ? raw : raw.subarray(0, end));
  }

  _width(name) { return this._fields.find(([field]) => field === name)[1].width; }

  _makeRoom(rows) {
    if (rows <= this._room) return;
    this._room = Math.max(1024, rows, 2 * this._room);
    for (const [name, place] of this._fields) {
      const [size, read, Kind] = READERS[place.kind];
      const larger = new Kind(this._room * (read ? place.width : size));
      const old = this._arrays.get(name);
      if (old) larger.set(old);
      this._arrays.set(name, larger);
    }
  }
}
