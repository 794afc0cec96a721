// JSON from the server, or an error that can be shown as it is.

export class ApiError extends Error {
  constructor({ text, hint, where }, status) {
    super(text);
    Object.assign(this, { text, hint, where, status });
  }
}

/** The answer to an address of `addresses.js`. */
export function get(path, options = {}) {
  return ask(path, options);
}

/** Ask the server to act. */
export function post(path, body = {}) {
  return ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError({ text: 'the server does not answer.', hint: 'Start it again: gymsolve web' }, 0);
  }
  if (answer.ok) return answer.json();
  let fault = { text: `the server answered ${answer.status}.` };
  try {
    fault = (await answer.json()).error ?? fault;
  } catch {
    // It was no JSON: the status has to do.
  }
  throw new ApiError(fault, answer.status);
}
