// All steps as a table: only the rows in sight are drawn. The CSV comes from the function that writes rollout.csv.
import { short } from '../chart.js';
import { html, render } from '../vendor/lit-html.js';

const HEIGHT = 26;
const SIGHT = 360;
const NAMES = [
  'reward_seen', 'reward', 'value', 'advantage', 'td_error', 'return', 'return_to_go', 'advantage_value', 'advantage_mean', 'entropy',
  'log_prob', 'memory_norm',
];

export const table = {
  id: 'table',
  title: 'Steps',
  wide: true,
  make(element, view) {
    let sorted = { name: 'step', down: false };
    let order = [];
    let following = true;
    const names = () => [...NAMES, ...view.episode.spec.components.map((name) => `reward/${name}`)].filter((name) => view.episode.column(name));

    function sort() {
      const { episode } = view;
      order = Array.from({ length: episode.steps }, (_, at) => at);
      if (sorted.name === 'action') order.sort((a, b) => episode.label(a).localeCompare(episode.label(b)) || a - b);
      else if (sorted.name !== 'step') {
        const column = episode.column(sorted.name) ?? [];
        order.sort((a, b) => (column[a] ?? 0) - (column[b] ?? 0) || a - b);
      }
      if (sorted.down) order.reverse();
    }

    function by(name) {
      sorted = { name, down: sorted.name === name ? !sorted.down : false };
      sort();
      draw();
    }

    function head(name, text, number) {
      const now = sorted.name === name;
      return html`<span role="columnheader" class=${number ? 'number' : ''} aria-sort=${now ? (sorted.down ? 'descending' : 'ascending') : 'none'}>
        <button type="button" class="quiet" @click=${() => by(name)}>${text}${now ? (sorted.down ? ' ↓' : ' ↑') : ''}</button></span>`;
    }

    function draw() {
      const { episode } = view;
      const columns = names();
      const box = element.querySelector('.rows');
      const first = Math.max(0, Math.floor((box?.scrollTop ?? 0) / HEIGHT) - 4);
      const shown = order.slice(first, first + Math.ceil(SIGHT / HEIGHT) + 8);
      const data = columns.map((name) => episode.column(name));
      render(html`<div class="row"><a class="button" href=${episode.address('csv', episode.changes)} download>CSV</a>
          <label><input type="checkbox" .checked=${following} @change=${(event) => { following = event.target.checked; }}> follow the cursor</label></div>
        <div class="scroll"><div class="steps" role="grid" aria-label="Steps" aria-rowcount=${order.length + 1} .style=${`--columns:${columns.length}`}>
          <div class="line head" role="row">${head('step', 'step', true)}${head('action', 'action', false)}${columns.map((name) => head(name, name, true))}</div>
          <div class="rows" tabindex="0" role="rowgroup" .style=${`height:${Math.min(SIGHT, order.length * HEIGHT + 2)}px`} @scroll=${draw} @keydown=${keys}><div class="all" .style=${`height:${order.length * HEIGHT}px`}>
            ${shown.map((at, place) => html`<div class=${`line${at === view.state ? ' here' : ''}`} role="row" aria-rowindex=${first + place + 2}
              .style=${`top:${(first + place) * HEIGHT}px`} data-step=${at} @click=${() => view.goto(at)}>
              <span role="gridcell" class="number">${at}</span><span role="gridcell">${episode.label(at)}</span>
              ${data.map((column, i) => html`<span role="gridcell" class="number" data-column=${columns[i]} data-value=${column[at] ?? ''}>${short(column[at])}</span>`)}</div>`)}
          </div></div></div></div>`, element);
    }

    function keys(event) {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (!(event.key in moves)) return;
      const place = order.indexOf(view.state) + moves[event.key];
      if (order[place] !== undefined) view.goto(order[place]);
      event.preventDefault();
    }

    let waiting = 0;
    /** Rows are many: while the cursor runs they follow ten times a second. */
    function show() {
      waiting ||= setTimeout(() => {
        waiting = 0;
        follow(view.state);
      }, 100);
    }

    function follow(state) {
      const box = element.querySelector('.rows');
      if (following && box && document.activeElement?.closest('.panel-table') !== element.parentElement) {
        const top = (sorted.name === 'step' && !sorted.down ? state : order.indexOf(state)) * HEIGHT;
        if (top < box.scrollTop || top > box.scrollTop + SIGHT - 2 * HEIGHT) box.scrollTop = Math.max(0, top - SIGHT / 2);
      }
      draw();
    }

    sort();
    draw();
    return { show, grow() { sort(); draw(); }, close() { clearTimeout(waiting); } };
  },
};
