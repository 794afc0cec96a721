// Keys, pads and sticks: which keys of the environment are pressed. The session makes an action of them.

const NAMED = {
  left: 'ArrowLeft', right: 'ArrowRight', up: 'ArrowUp', down: 'ArrowDown', space: 'Space', enter: 'Enter',
  shift: 'ShiftLeft', alt: 'AltLeft', backspace: 'Backspace',
};
const SHOWN = { left: '←', right: '→', up: '↑', down: '↓' };
const CODES = {
  ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', ShiftLeft: 'Shift', AltLeft: 'Alt',
};
const WASD = { w: 'up', a: 'left', s: 'down', d: 'right' };
/** Buttons of a standard gamepad, by the keys that they stand for: the first that the environment has. */
const PAD = {
  0: ['x', 'space', '1'], 1: ['z', 'e', 'p', '2'], 2: ['a', 'c', '3'], 3: ['s', '4'], 4: ['q'], 5: ['w'], 8: ['shift'],
  9: ['enter'], 12: ['up', 'w'], 13: ['down', 's'], 14: ['left', 'a'], 15: ['right', 'd'],
};
const STICK = [[['left', 'a'], ['right', 'd']], [['up', 'w'], ['down', 's']]];
const TRIGGERS = { 7: 'up', 6: 'down' }; // of Box actions: gas and brake, where arrows push them
const AXES = 4; // of two sticks: the even ones grow to the right, the odd ones downwards
const DEAD_ZONE = 0.2;

export function shownKey(name) {
  return SHOWN[name] ?? (name.length === 1 ? name.toUpperCase() : name);
}

/** What a physical key is called on the page. */
export function shownCode(code) {
  return CODES[code] ?? code.replace(/^(Key|Digit)/, '').replace(/^Numpad/, 'Num ');
}

/** The keys at the ends of each axis, where letters push numbers: axis by axis, one number each. */
function levers({ kind, bindings }, names) {
  if (kind !== 'box' || ['left', 'right', 'up', 'down'].some((arrow) => names.has(arrow))) return null;
  const end = (axis, sign) => bindings.filter(({ part, value }) => part === axis && value * sign > 0).flatMap(({ keys }) => keys);
  return Array.from({ length: AXES }, (_, axis) => (axis % 2 ? [end(axis, 1), end(axis, -1)] : [end(axis, -1), end(axis, 1)]));
}

export class Keys {
  /** `controls` are the environment's keys and what they do; `tell` hears of every change. */
  constructor(envId, controls, tell) {
    this.names = new Set(controls.bindings.flatMap(({ keys }) => keys));
    this._levers = levers(controls, this.names);
    this._triggers = controls.kind === 'box' ? Object.entries(TRIGGERS).filter(([, name]) => this.names.has(name)) : [];
    this._store = `gymsolve.keys.${envId}`;
    this._tell = tell;
    this._down = new Map(); // key → where it is held: codes, `screen`, `pad`
    this._strengths = {};
    this.levels = {};
    this.own = this._load();
  }

  /** The physical key that stands for a key of the environment. */
  codeOf(name) {
    return this.own[name] ?? NAMED[name] ?? (/^\d$/.test(name) ? `Digit${name}` : `Key${name.toUpperCase()}`);
  }

  /** The key of the environment that a physical key stands for; undefined for all others. */
  nameOf(code) {
    for (const name of this.names) if (this.codeOf(name) === code) return name;
    const plain = { ShiftRight: 'ShiftLeft', AltRight: 'AltLeft', NumpadEnter: 'Enter' }[code]
      ?? code.replace(/^Numpad(\d)$/, 'Digit$1');
    if (plain !== code) return this.nameOf(plain);
    const letter = code.replace(/^Key/, '').toLowerCase();
    const free = Object.keys(WASD).every((key) => !this.names.has(key));
    return free && this.names.has(WASD[letter]) && !this.own[WASD[letter]] ? WASD[letter] : undefined;
  }

  /** Let another physical key stand for a key; kept for this environment. */
  remap(name, code) {
    for (const other of this.names) if (this.codeOf(other) === code) this.own[other] = this.codeOf(name);
    this.own[name] = code;
    localStorage.setItem(this._store, JSON.stringify(this.own));
  }

  forget() {
    this.own = {};
    localStorage.removeItem(this._store);
  }

  press(name, where) {
    const held = this._down.get(name) ?? new Set();
    if (held.has(where)) return;
    const isNew = held.size === 0;
    held.add(where);
    if (isNew) {
      this._down.delete(name); // the newest comes last
      this._down.set(name, held);
      this._changed();
    }
  }

  release(name, where) {
    const held = this._down.get(name);
    if (!held?.delete(where) || held.size) return;
    this._down.delete(name);
    this._changed();
  }

  /** Everything is up: the page lost the keyboard. */
  clear() {
    if (!this._down.size) return;
    this._down.clear();
    this._strengths = {};
    this._changed();
  }

  isDown(name) {
    return this._down.has(name);
  }

  setLevel(dimension, value) {
    if (value === null) delete this.levels[dimension];
    else this.levels[dimension] = value;
    this._changed();
  }

  /** Look at the gamepads; true while there is one. */
  poll() {
    const pads = [...(navigator.getGamepads?.() ?? [])].filter((pad) => pad?.connected);
    const wanted = new Map();
    for (const pad of pads) this._look(pad, wanted);
    for (const name of this._down.keys()) { // before the others go down: a stick has one end at a time
      if (wanted.has(name) || !this._down.get(name).has('pad')) continue;
      delete this._strengths[name];
      this.release(name, 'pad');
    }
    let moved = false;
    for (const [name, strength] of wanted) {
      moved ||= Math.abs((this._strengths[name] ?? 0) - strength) > 0.02;
      this._strengths[name] = strength;
      this.press(name, 'pad');
    }
    if (moved) this._changed();
    return pads.length > 0;
  }

  _look(pad, wanted) {
    if (pad.mapping === 'standard' && !this._levers) {
      for (const [place, keys] of Object.entries(PAD)) {
        const name = keys.find((key) => this.names.has(key));
        if (name && pad.buttons[place]?.pressed) wanted.set(name, 1);
      }
    }
    if (pad.mapping === 'standard') {
      for (const [place, name] of this._triggers) {
        const value = pad.buttons[place]?.value ?? 0;
        if (value > DEAD_ZONE) wanted.set(name, value);
      }
    }
    (this._levers ?? STICK).forEach((ends, axis) => {
      const value = pad.axes[axis] ?? 0;
      const name = ends[value < 0 ? 0 : 1].find((key) => this.names.has(key));
      if (name && Math.abs(value) > DEAD_ZONE) wanted.set(name, Math.min(1, Math.abs(value)));
    });
  }

  _changed() {
    this._tell({ pressed: [...this._down.keys()], strengths: this._strengths, levels: this.levels });
  }

  _load() {
    try {
      const stored = JSON.parse(localStorage.getItem(this._store) ?? '{}');
      return Object.fromEntries(Object.entries(stored).filter(([, code]) => typeof code === 'string'));
    } catch {
      return {};
    }
  }
}
