// Another future: force an action in the step under the cursor, or take over by keys; then both side by side.
import { short } from '../chart.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { beside } from './beside.js';
import { hand } from './hand.js';

const MOST_PARTS = 24;

export const branch = {
  id: 'branch',
  title: 'Branch: what if it had done something else?',
  wide: true,
  make(element, view) {
    const { facts } = view.episode;
    let chosen = null;
    let at = -1;
    let busy = '';
    let shown = null;
    let held = null;
    render(html`<div class="ask"></div><div class="hand"></div><div class="futures"></div><div class="two"></div>`, element);
    const [asking, handing, futures, two] = element.children;
    const both = beside(two, view);
    if (facts.parent) compareWithParent();

    /** An episode that is a branch shows the one that it left. */
    function compareWithParent() {
      const known = view.run.episodes.some((episode) => episode.name === facts.parent);
      if (known) both.set([{ title: 'as it was', name: facts.parent }, { title: 'this branch', name: view.episode.name }]).catch(view.fail);
    }

    async function play(type, message) {
      busy = 'Playing the branch …';
      draw();
      try {
        const answer = await view.desk.ask(type, message, (news) => {
          if (news.type === 'states') { busy = `Playing the branch: ${news.states} states …`; draw(); }
        });
        if (answer.branch) await show(answer.branch);
      } catch (error) {
        view.fail(error);
      }
      busy = '';
      draw();
    }

    async function show(split) {
      shown = split;
      await view.reload();
      await both.set([{ title: 'as it was', name: split.parent.name }, { title: 'branch', name: split.child.name }]);
      view.goto(split.step);
    }

    function force() {
      play('branch', { episode: view.episode.name, step: at, action: [...chosen] });
    }

    async function takeOver() {
      busy = `Going to step ${at} …`;
      shown = null;
      both.close();
      render(nothing, two);
      draw();
      try {
        const begun = await view.desk.ask('hand', { episode: view.episode.name, step: at });
        held = hand(handing, view, begun, (drop) => {
          held?.close();
          held = null;
          play('give_back', drop ? { drop: true } : {});
        });
      } catch (error) {
        view.fail(error);
      }
      busy = '';
      draw();
    }

    function draw() {
      const { episode } = view;
      const playing = episode.facts.state === 'playing';
      const over = view.state >= episode.steps;
      const step = Math.min(view.state, Math.max(0, episode.steps - 1));
      if (step !== at || !chosen) {
        at = step;
        chosen = episode.steps ? Float64Array.from(episode.vector('action', at)) : null;
      }
      const idle = !busy && !held && !playing && !over && chosen;
      const same = chosen && episode.vector('action', at).every((value, part) => Math.abs(value - chosen[part]) < 1e-6);
      render(html`
        ${facts.parent ? html`<p>This episode is a branch, at step ${facts.branch_at}, of
          <button type="button" class="quiet" @click=${() => view.open(facts.parent, facts.branch_at).catch(view.fail)}>another one</button>.</p>` : nothing}
        ${chosen && !over ? html`<div class="row"><span>In step <b>${at}</b> the policy did <b>${episode.label(at)}</b>. Instead:</span>
          ${chooser(episode, chosen, (part, value) => { chosen[part] = value; draw(); }, step)}
          <button type="button" class="main" data-do="force" ?disabled=${!idle || same} @click=${force}>Force it and play on</button>
          <button type="button" data-do="hand" ?disabled=${!idle} @click=${takeOver}>Take over with the keys</button></div>`
          : html`<p class="soft">${playing ? 'Wait for the end of the episode.' : 'The episode is over here: go to an earlier step.'}</p>`}
        <p class="soft small" role="status">${busy}</p>`, asking);
      render(shown ? table(shown, view) : nothing, futures);
    }

    draw();
    return {
      show(state) { draw(); both.show(state); },
      grow: draw,
      close() { held?.close(true); both.close(); },
    };
  },
};

/** What to do instead, in the policy's own units. */
function chooser(episode, chosen, change, step) {
  const { kind, nvec, start } = episode.spec.action;
  const names = episode.facts.action_names;
  const mask = episode.vector('mask', step);
  if (!nvec.length) {
    return Array.from(chosen.subarray(0, MOST_PARTS), (value, part) => html`<label>${names[part] || `number ${part}`}
      <input class="short" type="number" step="0.1" .value=${String(Number(value.toPrecision(4)))}
        @change=${(event) => { const given = Number(event.target.value); if (Number.isFinite(given)) change(part, given); }}></label>`);
  }
  let before = 0;
  return nvec.slice(0, MOST_PARTS).map((count, part) => {
    const offset = before;
    before += count;
    const named = (choice) => (kind === 'discrete' ? names[choice] : kind === 'multi_binary' ? ['off', 'on'][choice] : names[offset + choice])
      || String(choice + (start[part] ?? 0));
    const title = kind === 'discrete' ? 'Action' : kind === 'multi_binary' ? names[part] || `button ${part}` : `part ${part + 1}`;
    return html`<label>${title} <select data-part=${part} @change=${(event) => change(part, Number(event.target.value))}>
      ${Array.from({ length: count }, (_, choice) => html`<option value=${choice} .selected=${choice === chosen[part]}
        ?disabled=${mask ? !mask[offset + choice] : false}>${named(choice)}</option>`)}</select></label>`;
  });
}

function table({ step, compared, parent, child }, view) {
  const row = (title, future) => html`<tr><td>${title}</td><td>${future.label ?? '–'}</td><td class="number" data-to-come=${future.to_come}>${short(future.to_come)}</td>
    <td class="number">${short(future.return)}</td><td class="number">${future.length}</td><td>${future.end}</td>
    <td><button type="button" class="quiet" @click=${() => view.open(future.name, step).catch(view.fail)}>open</button></td></tr>`;
  const gain = child.to_come - parent.to_come;
  return html`<p data-compared=${compared}>Up to step ${step} both are the same episode: ${compared === 1 ? '1 state was' : `${compared} states were`} compared bit for bit.
      From there on the branch earned ${gain === 0 ? 'as much as the episode' : html`<b class=${gain > 0 ? 'good' : 'bad'}>${
        short(Math.abs(gain))} ${gain > 0 ? 'more' : 'less'}</b> than the episode`}.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Both futures"><table><thead><tr><th></th><th>action in step ${step}</th><th class="number">return from there</th><th class="number">return</th>
      <th class="number">steps</th><th>end</th><th></th></tr></thead><tbody>${row('as it was', parent)}${row('branch', child)}</tbody></table></div>`;
}
