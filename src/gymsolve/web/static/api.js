// Answers of the server, or an error that can be shown as it is.

export class ApiError extends Error {
  constructor({ text, hint, where }, status, comeBack = 0) {
    super(text);
    Object.assign(this, { text, hint, where, status, comeBack });
  }
}

const TRIES = 10;

/** The JSON at an address of `addresses.js`. */
export async function get(path, options = {}) {
  return (await askPatiently(path, options)).json();
}

/** The bytes at an address. */
export async function getBytes(path) {
  return (await askPatiently(path, {})).arrayBuffer();
}

/** Ask the server to act. */
export async function post(path, body = {}) {
  const headers = { 'content-type': 'application/json' };
  return (await ask(path, { method: 'POST', body: JSON.stringify(body), headers })).json();
}

/** Ask a server with too much to do again when it says so. */
async function askPatiently(path, options) {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await ask(path, options);
    } catch (error) {
      if (!error.comeBack || left === 0) throw error;
      await new Promise((done) => setTimeout(done, 1000 * error.comeBack * (1 + Math.random())));
    }
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError({ text: 'the server does not answer.', hint: 'Start it again: gymsolve web' }, 0);
  }
  if (answer.ok) return answer;
  let fault = { text: `the server answered ${answer.status}.` };
  try {
    fault = (await answer.json()).error ?? fault;
  } catch {
    // It was no JSON: the status has to do.
  }
  throw new ApiError(fault, answer.status, Number(answer.headers.get('retry-after')) || 0);
}
