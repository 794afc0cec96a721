// Work that follows a moving cursor: one piece at a time, and of those that wait only the newest.

/** A function that calls `work(value)`; while it is busy, earlier values that wait are dropped. */
export function newest(work) {
  let busy = false;
  let waiting = null;
  return async function next(value) {
    waiting = [value];
    if (busy) return;
    busy = true;
    try {
      while (waiting) {
        const [now] = waiting;
        waiting = null;
        await work(now);
      }
    } finally {
      busy = false;
    }
  };
}
