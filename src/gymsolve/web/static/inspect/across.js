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
    const others = view.run.checkpoints.filter((checkpoint) => checkpoint.name !== facts.checkpoint);
    const wanted = new Set(others.slice(-1).map((checkpoint) => checkpoint.name));
    let busy = '';
    let compared = null;
    render(html`<div></div><div></div><div></div>`, element);
    const [asking, results, pictures] = element.children;
    const all = beside(pictures, view);

    async function compare() {
      busy = 'Playing …';
      draw();
      try {
        const answer = await view.desk.ask('across', { episode: view.episode.name, checkpoints: [...wanted] }, (news) => {
          if (news.type === 'states') { busy = `Playing: ${news.states} states …`; draw(); }
        });
        compared = answer.compared;
        await view.reload();
        await all.set(compared.map((episode) => ({ title: `checkpoint ${episode.checkpoint}`, name: episode.name })));
        const first = Math.min(...compared.map((episode) => episode.disagrees_at ?? Infinity));
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
        ${others.map((checkpoint) => html`<label><input type="checkbox" .checked=${wanted.has(checkpoint.name)}
          ?disabled=${!wanted.has(checkpoint.name) && wanted.size >= MOST} @change=${(event) => toggle(checkpoint.name, event.target.checked)}>
          ${checkpoint.name}${checkpoint.best ? ' (best)' : ''}${checkpoint.last ? ' (last)' : ''}</label>`)}
        <button type="button" class="main" data-do="across" ?disabled=${!wanted.size || busy || view.episode.facts.state === 'playing'} @click=${compare}>Compare</button></div>
        <p class="soft small" role="status">${busy}</p>`, asking);
      render(compared ? table(compared, view) : nothing, results);
    }

    draw();
    return { show(state) { all.show(state); }, grow: draw, close() { all.close(); } };
  },
};

function table(rows, view) {
  const pair = (episode, name) => (episode[name] ? `${short(episode[name][0])} → ${short(episode[name][1])}` : '–');
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Checkpoints side by side"><table><thead><tr><th class="number">checkpoint</th><th class="number">return</th><th class="number">steps</th><th>end</th>
      <th class="number">first disagrees in step</th><th>actions there</th><th>values there</th><th>return from there</th></tr></thead>
    <tbody>${rows.map((episode, at) => html`<tr><td class="number">${episode.checkpoint}</td><td class="number">${short(episode.return)}</td>
      <td class="number">${episode.length}</td><td>${episode.end}</td>
      <td class="number" data-disagrees=${episode.disagrees_at ?? ''}>${at === 0 ? '–' : episode.disagrees_at === null ? 'never' : html`<button type="button" class="quiet"
        @click=${() => view.goto(episode.disagrees_at)}>${episode.disagrees_at}</button>`}</td>
      <td>${episode.labels ? `${episode.labels[0]} → ${episode.labels[1]}` : '–'}</td><td>${pair(episode, 'values')}</td><td>${pair(episode, 'to_come')}</td></tr>`)}</tbody></table></div>
    <p class="soft small">The first one is compared with each of the others; up to the step named, both saw and did the same.</p>`;
}
