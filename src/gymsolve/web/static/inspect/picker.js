// Which run, checkpoint and seed to look at, and how actions are chosen.
import { pages } from '../addresses.js';
import { html, nothing, render } from '../vendor/lit-html.js';

export function picker(element, view) {
  const state = { runs: [], run: null, busy: false, paused: false, checkpoint: '', seed: '', sampled: false, role: 'eval', task: '', count: 1 };

  function draw() {
    const { run } = state;
    const names = state.runs.some((other) => other.run === run?.run) || !run ? state.runs : [run, ...state.runs];
    render(html`<form class="row picker" @submit=${submit}>
      <label>Run <select name="run" @change=${chooseRun}>
        ${run ? nothing : html`<option value="">choose a run</option>`}
        ${names.map((other) => html`<option value=${other.run} .selected=${other.run === run?.run}>${other.run}</option>`)}
      </select></label>
      ${run ? controls(run) : nothing}
    </form>${state.runs.length || run ? nothing : html`<p class="soft">There are no runs here yet.</p>`}`, element);
  }

  function controls(run) {
    const chosen = run.checkpoints.some((saved) => saved.name === state.checkpoint);
    return html`
      <label>Checkpoint <select name="checkpoint" @change=${(event) => { state.checkpoint = event.target.value; }}>
        ${run.checkpoints.map((saved) => html`<option value=${saved.name} .selected=${chosen ? saved.name === state.checkpoint : saved.best}>${
          saved.name}${saved.best ? ' · best' : ''}${saved.last ? ' · last' : ''}</option>`)}
      </select></label>
      ${run.tasks.length ? html`<label>Task <select name="task" @change=${(event) => { state.task = event.target.value; }}>
        ${run.tasks.map((name) => html`<option .selected=${name === state.task}>${name}</option>`)}</select></label>` : nothing}
      <label>Seed <input name="seed" type="number" min="0" step="1" class="short" .value=${state.seed} @input=${(event) => { state.seed = event.target.value; }}></label>
      <label>Actions <select name="actions" @change=${(event) => { state.sampled = event.target.value === 'sampled'; }}>
        <option value="likeliest" .selected=${!state.sampled}>likeliest</option>
        <option value="sampled" .selected=${state.sampled}>sampled</option></select></label>
      <label>Wrappers <select name="role" @change=${(event) => { state.role = event.target.value; }}>
        <option value="eval" .selected=${state.role === 'eval'}>as judged</option>
        <option value="train" .selected=${state.role === 'train'}>as trained</option></select></label>
      <label>Episodes <input name="count" type="number" min="1" max="100" step="1" class="short" .value=${String(state.count)}
        @input=${(event) => { state.count = Number(event.target.value) || 1; }}></label>
      <button class="main" ?disabled=${state.busy || !run.checkpoints.length}>Inspect</button>
      ${state.busy ? html`<button type="button" @click=${() => view.desk.tell(state.paused ? 'continue' : 'pause')}>${
        state.paused ? 'Continue' : 'Pause'}</button>
        <button type="button" @click=${() => view.desk.tell('stop')}>Stop</button>` : nothing}
      ${run.checkpoints.length ? nothing : html`<p class="bad">This run has no checkpoint yet: wait for its first saved, or train it for longer.</p>`}`;
  }

  function submit(event) {
    event.preventDefault();
    view.inspect(api.wish());
  }

  function chooseRun(event) {
    if (event.target.value) location.assign(pages.inspect({ run: event.target.value }));
  }

  const api = {
    runs(runs, query) {
      state.runs = runs;
      state.sampled = query.get('sampled') === '1';
      draw();
    },
    run(run, query) {
      const asked = query.get('checkpoint');
      const named = run.checkpoints.find((saved) => (asked === 'best' && saved.best) || (asked === 'last' && saved.last) || saved.name === asked);
      const usual = run.checkpoints.find((saved) => saved.best) ?? run.checkpoints.find((saved) => saved.last);
      if (!query.has('sampled') && !state.run) state.sampled = !run.deterministic;
      state.run = run;
      state.checkpoint = (named ?? usual)?.name ?? '';
      state.task = run.tasks.includes(query.get('task')) ? query.get('task') : run.tasks[0] ?? '';
      state.seed = query.get('seed') ?? String(run.seed ?? 0);
      draw();
    },
    /** The message that asks for what is chosen. */
    wish() {
      return {
        run: state.run.run, checkpoint: state.checkpoint, seed: Number(state.seed) || 0, count: state.count,
        sampled: state.sampled, role: state.role, ...(state.task ? { task: state.task } : {}),
      };
    },
    busy(now) {
      state.busy = now;
      state.paused = false;
      draw();
    },
    paused(now) {
      state.paused = now;
      draw();
    },
  };
  draw();
  return api;
}
