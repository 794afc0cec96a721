// Numbers and spans of time as the command line tells them (gymsolve/text.py).

const absent = (value) => value === null || value === undefined || Number.isNaN(value);

/** 12,288. */
export function count(value) {
  return absent(value) ? '–' : grouped(value, 0);
}

/** A number with so many significant digits; a dash for an unknown one. */
export function number(value, digits = 4) {
  if (absent(value)) return '–';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return grouped(value + 0, 0);
  if (size >= 100 && size < 1e6) return grouped(value, Math.max(1, digits - 3));
  return significant(value, digits);
}

/** 812 B, 3.4 MB. */
export function dataSize(bytes) {
  const [unit, name] = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']].find(([least]) => bytes >= least) ?? [1, 'B'];
  return `${unit === 1 ? bytes : significant(bytes / unit, 3)} ${name}`;
}

/** So many decimals, as Python rounds: the stored number, and what lies exactly between two goes to the even one. */
export function fixed(value, places) {
  const text = value.toFixed(places);
  const between = Math.abs(value * 2 ** (places + 1)) % 2 === 1;
  return between && '13579'.includes(text.at(-1)) ? nudged(value).toFixed(places) : text;
}

const nudged = (value) => value * (1 - 2 ** -50);

function grouped(value, places) {
  return fixed(value, places).replace(/\B(?<!\..*)(?=(\d{3})+(?!\d))/g, ',');
}

/** As %g writes it. */
function significant(value, digits) {
  if (!Number.isFinite(value)) return { [Infinity]: 'inf', [-Infinity]: '-inf' }[value];
  const power = Number(value.toExponential(digits - 1).split('e')[1]);
  const short = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (power >= -4 && power < digits) return short(fixed(value, digits - 1 - power));
  const [mantissa] = scientific(value, digits - 1, 10 ** (power - digits + 1)).split('e');
  return `${short(mantissa)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function scientific(value, places, unit) {
  const text = value.toExponential(places);
  const between = Math.abs(value) % unit === unit / 2;
  return between && '13579'.includes(text.split('e')[0].at(-1)) ? nudged(value).toExponential(places) : text;
}

/** 182.3 ± 20.1; the spread is not told more exactly than the mean. */
export function score(mean, spread) {
  if (absent(mean) || absent(spread)) return number(mean);
  return `${number(mean)} ± ${Math.abs(mean) >= 100 ? fixed(spread, 1) : number(spread)}`;
}

/** 0:42, 1:02:03, 2 d 3 h. */
export function duration(seconds) {
  if (absent(seconds) || !Number.isFinite(seconds)) return '–';
  const whole = Math.floor(seconds);
  const two = (value) => String(value).padStart(2, '0');
  if (whole >= 2 * 86400) return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
  const rest = `${whole >= 3600 ? two(Math.floor((whole % 3600) / 60)) : Math.floor(whole / 60)}:${two(whole % 60)}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

/** A duration that is over: 0.8 s, and from ten seconds on as above. */
export function took(seconds) {
  return !absent(seconds) && seconds < 10 ? `${fixed(seconds, 1)} s` : duration(seconds);
}

/** How long ago a moment is: 3 min, 2 h, 5 d. */
export function age(moment) {
  if (!moment) return '–';
  const seconds = (Date.now() - Date.parse(moment)) / 1000;
  for (const [unit, name] of [[86400, 'd'], [3600, 'h'], [60, 'min']]) {
    if (seconds >= unit) return `${Math.floor(seconds / unit)} ${name}`;
  }
  return 'now';
}

/** A stored moment in the reader's own time. */
export function clock(moment) {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? moment : date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
}

const REASONS = {
  steps: 'budget spent', time: 'time spent', 'stop file': 'asked to stop', interrupt: 'interrupted', hangup: 'terminal closed',
};

/** Why a run ended, in words. */
export function ended(reason) {
  return REASONS[reason] ?? reason;
}

/** Status of a run as a class of a colour. */
export const TONES = { solved: 'good', running: 'accent', crashed: 'bad', damaged: 'bad', stopped: 'calm', finished: 'soft' };
export const SEVERITIES = { error: 'bad', warn: 'calm', info: 'soft' };
