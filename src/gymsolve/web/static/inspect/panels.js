// The panels of the inspector, in their order on the page. A panel is
// {id, title, wide, half (of the width) or side, when(view), make(element, view) -> {show(state), grow?(), close?()}}:
// `show` after every move of the cursor, `grow` when more states came or credit changed.
import { across } from './across.js';
import { branch } from './branch.js';
import { breakpoints } from './breakpoints.js';
import { credit } from './credit.js';
import { episodes } from './episodes.js';
import { network } from './network.js';
import { numbersPanel } from './numbers.js';
import { observation } from './observation.js';
import { probabilities } from './probabilities.js';
import { review } from './review.js';
import { stage } from './stage.js';
import { table } from './table.js';
import { timeline } from './timeline.js';

const sheet = document.createElement('link');
sheet.rel = 'stylesheet';
sheet.href = new URL('./views.css', import.meta.url);
document.head.append(sheet);

export const PANELS = [
  stage,
  numbersPanel,
  probabilities,
  observation,
  timeline,
  breakpoints,
  credit,
  branch,
  network,
  across,
  table,
  episodes,
  review,
];
