// Short names of runs that stand beside each other: what tells them apart, not their whole ids.

const MOST_SETTINGS = 2;
const LONGEST = 48;

/** A name for each run: its own, or what differs from the others; no two are the same. */
export function shortNames(runs, differences) {
  const differs = (value) => new Set(runs.map(value)).size > 1;
  const settings = Object.entries(differences).filter(([path]) => path !== 'seed' && !path.startsWith('env.id'));
  const shown = settings.length <= MOST_SETTINGS ? settings : [];
  const names = runs.map((run, at) => {
    if (run.label) return cut(run.label);
    const parts = [differs((one) => one.name) ? run.name : '', ...shown.map(([path, values]) => `${path.split('.').at(-1)} ${told(values[at])}`),
      differs((one) => one.seed) && run.seed !== null ? `seed ${run.seed}` : ''];
    return cut(parts.filter(Boolean).join(', '));
  });
  return names.map((name, at) => {
    const taken = !name || names.some((other, place) => place !== at && other === name);
    return taken ? `${name ? `${name}, ` : ''}${ending(runs, at)}` : name;
  });
}

const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const told = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** The end of an id, which is drawn at random; the whole id where even that is taken. */
function ending(runs, at) {
  const last = (run) => run.id.split('-').at(-1);
  return runs.some((run, place) => place !== at && last(run) === last(runs[at])) ? runs[at].id : last(runs[at]);
}
