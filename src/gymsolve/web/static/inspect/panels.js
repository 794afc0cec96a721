// The panels of the inspector, in their order on the page. A panel is
// {id, title, wide or side, when(view), make(element, view) -> {show(state), grow?(), close?()}}:
// `show` after every move of the cursor, `grow` when more states came or credit changed.
import { breakpoints } from './breakpoints.js';
import { credit } from './credit.js';
import { episodes } from './episodes.js';
import { numbersPanel } from './numbers.js';
import { observation } from './observation.js';
import { probabilities } from './probabilities.js';
import { stage } from './stage.js';
import { table } from './table.js';
import { timeline } from './timeline.js';

export const PANELS = [
  stage,
  numbersPanel,
  probabilities,
  observation,
  timeline,
  breakpoints,
  credit,
  table,
  episodes,
];
