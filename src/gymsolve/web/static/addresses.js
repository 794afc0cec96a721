// Every address that pages ask the server for, and every page. `web/routes.py` and `web/pages.py` have the other
// side; a test compares both.

const part = encodeURIComponent;
const asked = (query) => (query && Object.keys(query).length ? `?${new URLSearchParams(query)}` : '');
const run = (id, more = '') => `/api/runs/${part(id)}${more}`;
const episode = (id, name, more = '') => `/api/inspect/${part(id)}/${part(name)}${more}`;

export const api = {
  runs: (query) => `/api/runs${asked(query)}`,
  settings: (query) => `/api/settings${asked(query)}`,
  tagRuns: () => '/api/runs/tag',
  deleteRuns: () => '/api/runs/delete',
  rename: (id) => run(id, '/rename'),
  run: (id) => run(id),
  follow: (id, query) => run(id, `/follow${asked(query)}`),
  closer: (id, query) => run(id, `/closer${asked(query)}`),
  alerts: (id) => run(id, '/alerts'),
  reportPage: (id) => run(id, '/report.html'),
  video: (id, name, stamp) => run(id, `/videos/${part(name)}.mp4?${stamp}`),
  poster: (id, name, stamp) => run(id, `/posters/${part(name)}.jpg?${stamp}`),
  stop: (id) => run(id, '/stop'),
  resume: (id) => run(id, '/resume'),
  fork: (id) => run(id, '/fork'),
  fix: (id) => run(id, '/fix'),
  report: (id) => run(id, '/report'),
  logbook: (id) => run(id, '/logbook'),
  compare: (query) => `/api/compare${asked(query)}`,
  recipes: () => '/api/recipes',
  choices: () => '/api/play/choices',
  inspectable: () => '/api/inspect',
  inspect: (id) => `/api/inspect/${part(id)}`,
  episode: (id, name) => episode(id, name),
  rows: (id, name, query) => episode(id, name, `/rows${asked(query)}`),
  frames: (id, name, query) => episode(id, name, `/frames${asked(query)}`),
  planes: (id, name, query) => episode(id, name, `/planes${asked(query)}`),
  credit: (id, name, query) => episode(id, name, `/credit${asked(query)}`),
  csv: (id, name, query) => episode(id, name, `/csv${asked(query)}`),
  review: (id, name, query) => episode(id, name, `/review${asked(query)}`),
  reviewAnswers: (id, name) => episode(id, name, '/review/answers'),
  reviewPicture: (id, name, query) => episode(id, name, `/review/picture${asked(query)}`),
};

export const pages = {
  runs: (query) => `/${asked(query)}`,
  run: (id) => `/run/${part(id)}`,
  compare: (query) => `/compare${asked(query)}`,
  play: (query) => `/play${asked(query)}`,
  inspect: (query) => `/inspect${asked(query)}`,
};

export const socket = (kind) => `ws://${location.host}/ws/${kind}`;
