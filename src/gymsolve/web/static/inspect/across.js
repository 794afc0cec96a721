// The same seed under several checkpoints: where they first do something else, and what came of it.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { beside } from './beside.js';

const MOST = 8;

export const across = {
  id: 'across',
  title: 'Across checkpoints',
  wide: true,
  when: (view) => view.run.checkpoints.length > 1,
  make(element, view) {
    const { facts } = view.episode;
    const others = view.run.checkpoints.filter((one) => one.name !== facts.checkpoint);
    const wanted = new Set(others.slice(-1).map((one) => one.name));
    let busy = '';
    let found = null;
    render(html`<div></div><div></div><div></div>`, element);
    const [asking, told, pictures] = element.children;
    const all = beside(pictures, view);

    async function compare() {
      busy = 'Playing …';
      draw();
      try {
        const answer = await view.desk.ask('across', { episode: view.episode.name, checkpoints: [...wanted] }, (news) => {
          if (news.type === 'states') { busy = `Playing: ${news.states} states …`; draw(); }
        });
        found = answer.compared;
        await view.reload();
        await all.set(found.map((one) => ({ title: `checkpoint ${one.checkpoint}`, name: one.name })));
        const first = Math.min(...found.map((one) => one.disagrees_at ?? Infinity));
        if (Number.isFinite(first)) view.goto(first);
      } catch (error) {
        view.fail(error);
      }
      busy = '';
      draw();
    }

    function toggle(name, on) {
      if (on) wanted.add(name);
      else wanted.delete(name);
      draw();
    }

    function draw() {
      render(html`<div class="row"><span>Seed ${facts.seed} under checkpoint ${facts.checkpoint} and</span>
        ${others.map((one) => html`<label><input type="checkbox" .checked=${wanted.has(one.name)}
          ?disabled=${!wanted.has(one.name) && wanted.size >= MOST} @change=${(event) => toggle(one.name, event.target.checked)}>
          ${one.name}${one.best ? ' (best)' : ''}${one.last ? ' (last)' : ''}</label>`)}
        <button type="button" class="main" data-do="across" ?disabled=${!wanted.size || busy || view.episode.facts.state === 'playing'} @click=${compare}>Compare</button></div>
        <p class="soft small" role="status">${busy}</p>`, asking);
      render(found ? table(found, view) : nothing, told);
    }

    draw();
    return { show(state) { all.show(state); }, grow: draw, close() { all.close(); } };
  },
};

function table(rows, view) {
  const pair = (one, name) => (one[name] ? `${short(one[name][0])} → ${short(one[name][1])}` : '–');
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Checkpoints side by side"><table><thead><tr><th class="number">checkpoint</th><th class="number">return</th><th class="number">steps</th><th>end</th>
      <th class="number">first disagrees in step</th><th>actions there</th><th>values there</th><th>return from there</th></tr></thead>
    <tbody>${rows.map((one, at) => html`<tr><td class="number">${one.checkpoint}</td><td class="number">${short(one.return)}</td>
      <td class="number">${one.length}</td><td>${one.end}</td>
      <td class="number" data-disagrees=${one.disagrees_at ?? ''}>${at === 0 ? '–' : one.disagrees_at === null ? 'never' : html`<button type="button" class="quiet"
        @click=${() => view.goto(one.disagrees_at)}>${one.disagrees_at}</button>`}</td>
      <td>${one.labels ? `${one.labels[0]} → ${one.labels[1]}` : '–'}</td><td>${pair(one, 'values')}</td><td>${pair(one, 'to_come')}</td></tr>`)}</tbody></table></div>
    <p class="soft small">The first one is compared with each of the others; up to the step named, both saw and did the same.</p>`;
}
