// The page `play`: choose what to play, or play it.
import { offer } from './play/offer.js';
import { addStyle, mount } from './play/player.js';
import { page, showError } from './shell.js';

const asked = Object.fromEntries(new URLSearchParams(location.search));
const main = page(asked.env || asked.run || 'Play');

addStyle();
if (asked.env || asked.run) mount(main, requested(asked));
else offer(main).catch(showError);

/** What the address asks for, as a session takes it. */
function requested({ env, run, checkpoint, mode, seed, episodes, against, ...rest }) {
  const on = (name) => rest[name] === '1' || rest[name] === 'true';
  return {
    env, run, checkpoint, mode, seed, episodes, against,
    ...('sampled' in rest ? { sampled: on('sampled') } : {}), follow: on('follow'), record: on('record'), paused: on('paused'),
  };
}
