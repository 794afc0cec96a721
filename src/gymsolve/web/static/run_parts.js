// The parts of a run's page, as templates of what is known of it.
import { api, pages } from './addresses.js';
import { ApiError, post } from './api.js';
import { askForRun, commandLine, confirmAction, doubtful } from './ask.js';
import { askForName, askForTags, askToDelete } from './edit_runs.js';
import { capital, showError } from './shell.js';
import { html, nothing } from './vendor/lit-html.js';
import { age, clock, count, duration, ended, number, score, SEVERITIES, TONES, took } from './words.js';

const link = (id) => html`<a href=${pages.run(id)}>${id}</a>`;

export function head({ run, news }) {
  const status = news?.status ?? run.status;
  const reason = news?.reason ?? run.reason;
  return html`<div class="runhead"><div><h1>${run.label || run.name || run.id} <span class="badge ${TONES[status]}">${run.stopping ? 'stopping' : status}</span>
      ${reason && reason !== status && reason.length < 40 ? html`<span class="soft small">${ended(reason)}</span>` : nothing}</h1>
    ${run.tags.length ? html`<p>${run.tags.map((tag) => html`<a class="tag" href=${pages.runs({ query: `tag:${tag}` })}>${tag}</a> `)}</p>` : nothing}
    <p class="soft small">${run.id}${run.label ? ` · ${run.name}` : ''} · ${run.env_id} · ${run.algo}${run.seed === null ? '' : ` · seed ${run.seed}`} · started ${clock(run.created)} on ${run.host}
      ${run.parent ? html` · from ${run.parent_deleted ? run.parent.run : link(run.parent.run)}${run.parent.checkpoint ? `@${run.parent.checkpoint}` : ''}${run.parent_deleted ? ` (deleted on ${run.parent_deleted})` : ''}` : nothing}
      ${run.group ? html` · <a href=${pages.runs({ query: `group:${run.group}` })}>group ${run.group}</a>` : nothing}</p>
    ${reason && reason.length >= 40 ? html`<p class="${TONES[status]}">${capital(reason)}</p>` : nothing}</div></div>`;
}

export function actions(state) {
  const { run, news } = state;
  const running = (news?.status ?? run.status) === 'running';
  const saved = run.checkpoints.length > 0;
  const where = { run: run.id };
  const look = html`${saved ? html`<a class="button main" href=${pages.play(where)}>Play</a> <a class="button" href=${pages.inspect(where)}>Inspect</a>` : nothing}
    ${run.report ? html`<a class="button" href=${api.reportPage(run.id)}>Report</a>` : nothing}`;
  if (run.read_only) return html`<p class="row">${look}<span class="soft">read only</span></p>`;
  return html`<p class="row">${look}
    ${running ? html`<button type="button" ?disabled=${run.stopping} @click=${() => stop(state)}>Stop</button>` : nothing}
    ${!running && saved ? html`<button type="button" @click=${() => goOn(state, 'resume')}>Resume</button>` : nothing}
    ${saved ? html`<button type="button" @click=${() => goOn(state, 'fork')}>Fork</button>` : nothing}
    <button type="button" class="quiet soft" @click=${() => act(state, () => post(api.report(run.id)))}>${run.report ? 'Write the report again' : 'Write a report'}</button>
    <button type="button" class="quiet soft" @click=${() => act(state, () => askForName(run))}>Rename</button>
    <button type="button" class="quiet soft" @click=${() => act(state, () => askForTags([run.id], run.tags))}>Tag</button>
    ${running ? nothing : html`<button type="button" class="quiet danger" @click=${() => remove(state)}>Delete</button>`}</p>`;
}

/** Delete the run; the page goes to the list, since nothing is left to show. */
async function remove({ run }) {
  try {
    if (await askToDelete([run.id])) location.href = pages.runs();
  } catch (error) {
    showError(error);
  }
}

async function act(state, call) {
  try {
    const answer = await call();
    showError(null);
    if (answer) await state.refresh();
    return answer;
  } catch (error) {
    showError(error);
    return null;
  }
}

function stop(state) {
  return act(state, () => confirmAction({
    title: 'Stop this run?', verb: 'Stop', path: api.stop(state.run.id),
    text: `It finishes the update under way, saves a checkpoint and ends. It can be resumed.${
      state.run.host === state.run.machine ? '' : ` It trains on ${state.run.host}, and hears of this if that machine shares the folder.`}`,
  }));
}

async function goOn(state, kind, checkpoint = '') {
  const fork = kind === 'fork';
  const begun = await act(state, () => askForRun({
    title: fork ? 'Fork this run' : 'Resume this run', verb: fork ? 'Fork' : 'Resume',
    text: fork ? 'A new run begins in the state of a checkpoint, with other settings if you like.' : 'The same run goes on from its last checkpoint.',
    path: fork ? api.fork(state.run.id) : api.resume(state.run.id), values: { checkpoint },
    fields: fork ? ['checkpoint', 'steps', 'seed', 'set'] : ['steps', 'set'],
  }));
  if (begun && begun.run !== state.run.id) location.href = pages.run(begun.run);
}

/** What the mean return of training is about, where that is not what evaluations count. */
function trainingLabel(run, cut) {
  const unit = run.training_unit ? ` ${run.training_unit}` : '';
  const left = cut >= 0.05 ? `; of those left: faults cut ${Math.round(100 * cut)}%` : '';
  return `training return${unit}, last 100 episodes${left}`;
}

export function tiles({ run, news, tracks }) {
  const done = news?.env_steps ?? run.env_steps;
  const running = (news?.status ?? run.status) === 'running';
  const speed = tracks.last('time/fps');
  const share = tracks.last('progress') ?? (run.steps ? Math.min(1, done / run.steps) : 0); // the budget may count vector steps
  const left = running && speed && share ? (done / share - done) / speed : null;
  const unit = run.settings.find((setting) => setting.path === 'budget_in')?.value === 'vec_steps' ? 'vector steps' : 'steps';
  const tile = (value, label) => html`<div class="tile"><b>${value}</b><span>${label}</span></div>`;
  return html`<progress class="wide" max="1" value=${share} aria-label="Progress"></progress>
    <div class="tiles">
    ${tile(count(done), run.steps ? `${unit === 'steps' ? '' : 'steps; budget '}of ${count(run.steps)} ${unit}` : 'steps')}
    ${tile(number(run.best_reward), run.threshold === null ? 'best evaluation' : `best evaluation, threshold ${number(run.threshold)}`)}
    ${tile(number(tracks.last('rollout/ep_rew_mean')), trainingLabel(run, tracks.last('rollout/cut_share')))}
    ${tile(speed === null ? '–' : count(speed), 'steps per second')}
    ${tile(took(tracks.clock), 'of training')}
    ${running ? tile(left === null ? '–' : duration(left), 'left at this speed') : nothing}</div>`;
}

export function alerts(state) {
  const { diagnosis, run } = state;
  if (!diagnosis) return html`<h2>Alerts</h2><p class="soft">${run.alerts.length ? run.alerts.map((active) => active.title).join(', ') : 'Looking …'}</p>`;
  return html`<h2>Alerts</h2>
    ${diagnosis.roots.length ? diagnosis.roots.map((root) => alert(state, root)) : html`<p class="soft">None: ${diagnosis.checked} checks found nothing.</p>`}
    ${doubtful(diagnosis.lint)}
    ${diagnosis.problems.map((problem) => html`<p class="soft small">${problem}</p>`)}`;
}

function alert(state, root) {
  return html`<article class="card alert ${root.severity}"><h3>${capital(root.title)} <span class="small ${SEVERITIES[root.severity]}">${root.severity}</span></h3>
    <p>${capital(root.evidence)}, ${root.lasting}.</p><p><span class="soft">Cause:</span> ${root.cause}</p>
    <p><span class="soft">Remedy:</span> ${root.remedy}${root.effect ? html` <span class="soft">(${root.effect})</span>` : nothing}</p>
    ${root.follows.length ? html`<p class="soft small">Follows from it: ${root.follows.map((other) => other.title).join(', ')}</p>` : nothing}
    ${root.fix ? html`<details><summary>Try the remedy</summary><p class="small">Trains with and without it, from the checkpoint before the alert, and compares.</p>
      ${commandLine(root.fix)}${trials(state, root)}${state.run.read_only ? nothing : html`<button type="button" @click=${() => tryFix(state, root)}>Run it in the background</button>`}</details>` : nothing}</article>`;
}

const OUTCOMES = { helped: 'It helped:', hurt: 'It made things worse:', unclear: 'No difference can be claimed:' };
const countTrials = (run) => run.events.filter((event) => event.kind === 'fix').length;

/** What came of trying a remedy, or that it is being tried. */
function trials({ run, trying }, { id, tried }) {
  if (trying.has(id) && trying.get(id) === countTrials(run)) {
    return html`<p class="small" role="status">Its trials train in the background: <a href=${pages.runs({ trials: 1 })}>runs with trials</a>. Their results appear here.</p>`;
  }
  return tried ? html`<p class="small" role="status">Tried: ${OUTCOMES[tried.verdict]} ${tried.certainty}. ${tried.runs.map((name) => html`${link(name)} `)}</p>` : nothing;
}

function tryFix(state, root) {
  return act(state, async () => {
    const before = countTrials(state.run);
    const answer = await confirmAction({
      title: 'Try this remedy?', verb: 'Start the trials', path: api.fix(state.run.id), body: { alert: root.id },
      text: 'Trials are short trainings; they go on in the background, and an event of this run tells what came of them.',
    });
    if (answer?.obstacle) throw new ApiError({ text: answer.obstacle });
    if (answer) state.trying.set(root.id, before);
    return answer;
  });
}

export function evaluations({ tracks }) {
  const means = tracks.of.get('eval/mean_reward');
  if (!means) return nothing;
  const spreads = tracks.of.get('eval/std_reward');
  const spread = new Map((spreads?.steps ?? []).map((step, at) => [step, spreads.values[at]]));
  const rows = means.steps.map((step, at) => [step, means.values[at], spread.get(step) ?? null]).reverse();
  return html`<h2>Evaluations</h2><div class="scroll"><table id="evaluations"><thead><tr><th scope="col" class="number">steps</th><th scope="col" class="number">mean return ± spread</th></tr></thead>
    <tbody>${rows.slice(0, 12).map(([step, mean, std]) => html`<tr><td class="number">${count(step)}</td><td class="number">${score(mean, std)}</td></tr>`)}</tbody></table></div>
    ${rows.length > 12 ? html`<p class="soft small">The newest 12 of ${rows.length}.</p>` : nothing}`;
}

export function videos({ run }) {
  if (!run.videos.length) return nothing;
  const about = (video) => [video.env_steps === null ? '' : `${count(video.env_steps)} steps`,
    video.episode_return === null ? '' : `return ${number(video.episode_return)}`, video.note].filter(Boolean).join(', ');
  const film = (video) => html`<figure><video controls preload=${video.poster ? 'none' : 'metadata'} muted poster=${video.poster ? api.poster(run.id, video.name, video.stamp) : nothing} src=${api.video(run.id, video.name, video.stamp)}></video>
    <figcaption class="small"><b>${video.names.join(' and ')}</b> <span class="soft">${about(video)}</span></figcaption></figure>`;
  return html`<h2>Videos</h2><div class="videos">${run.videos.map(film)}</div>`;
}

export function checkpoints(state) {
  const { run } = state;
  if (!run.checkpoints.length) return html`<h2>Checkpoints</h2><p class="soft">None was saved yet.</p>`;
  const row = (saved) => {
    const where = { run: run.id, checkpoint: saved.name };
    const marks = [saved.best ? 'best' : '', saved.last ? 'last' : ''].filter(Boolean).join(', ');
    return html`<tr><td class="number">${count(saved.env_steps)}</td><td>${marks}</td><td>${saved.reason ?? ''}</td>
      <td class="number">${score(saved.eval?.['eval/mean_reward'] ?? null, saved.eval?.['eval/std_reward'] ?? null)}</td><td class="soft nowrap">${age(saved.time)}</td>
      <td class="nowrap"><a href=${pages.play(where)} aria-label="Play checkpoint ${saved.name}">play</a> · <a href=${pages.inspect(where)} aria-label="Inspect checkpoint ${saved.name}">inspect</a>
      ${run.read_only ? nothing : html` · <button type="button" class="quiet small" aria-label="Fork checkpoint ${saved.name}" @click=${() => goOn(state, 'fork', saved.name)}>fork</button>`}</td></tr>`;
  };
  return html`<h2>Checkpoints</h2><div class="scroll" tabindex="0" role="region" aria-label="Checkpoints"><table><thead><tr><th scope="col" class="number">steps</th><th scope="col">pointers</th><th scope="col">saved because</th>
    <th scope="col" class="number">evaluation</th><th scope="col">age</th><th scope="col">look</th></tr></thead><tbody>${[...run.checkpoints].reverse().map(row)}</tbody></table></div>`;
}

export function logbook(state) {
  const { run } = state;
  const entry = (written) => html`<div class="entry"><p class="soft small">${clock(written.time)}, ${written.by}${written.verdict === 'open' ? '' : `: ${written.verdict}`}</p>
    ${['note', 'hypothesis', 'change', 'result'].filter((name) => written[name]).map((name) => html`<p>${name === 'note' ? nothing : html`<span class="soft">${capital(name)}: </span>`}${written[name]}</p>`)}</div>`;
  const add = async (event) => {
    event.preventDefault();
    const form = event.target;
    const parts = Object.fromEntries(new FormData(form));
    if (await act(state, () => post(api.logbook(run.id), parts))) form.reset();
  };
  return html`<h2>Logbook</h2>${run.logbook.length ? run.logbook.map(entry) : html`<p class="soft">Nothing was written about this run yet.</p>`}
    ${run.read_only ? nothing : html`<details><summary>Write an entry</summary><form class="card" @submit=${add}>
      ${[['note', 'Note'], ['hypothesis', 'What was expected'], ['change', 'What was changed'], ['result', 'What came of it']]
        .map(([name, label]) => html`<label class="field"><span>${label}</span><textarea name=${name} rows="2"></textarea></label>`)}
      <p class="row"><label>Verdict <select name="verdict"><option>open</option><option>confirmed</option><option>refuted</option></select></label>
      <button type="submit" class="main">Add</button></p></form></details>`}`;
}

export function events(run) {
  return html`<details><summary>Events (${run.events.length})</summary><div class="scroll" tabindex="0" role="region" aria-label="Events"><table><thead><tr><th scope="col">time</th><th scope="col" class="number">steps</th><th scope="col">event</th><th scope="col">details</th></tr></thead>
    <tbody>${run.events.map((event) => html`<tr><td class="nowrap">${clock(event.time)}</td><td class="number">${event.env_steps === null ? '' : count(event.env_steps)}</td><td>${event.kind}</td><td class="long">${event.text}</td></tr>`)}</tbody></table></div></details>`;
}

export function settings(run) {
  const own = run.settings.filter((setting) => setting.decided_by !== 'default');
  const table = (rows, label) => html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table><thead><tr><th scope="col">setting</th><th scope="col">value</th><th scope="col">decided by</th></tr></thead>
    <tbody>${rows.map((setting) => html`<tr><td class="code">${setting.path}</td><td class="long code">${setting.value}</td><td>${setting.decided_by}</td></tr>`)}</tbody></table></div>`;
  return html`<details><summary>Settings (${own.length} decided, ${run.settings.length} in all)</summary>${table(own, 'Settings that somebody decided')}
    <details><summary>Those with their defaults</summary>${table(run.settings.filter((setting) => setting.decided_by === 'default'), 'Settings with their defaults')}</details></details>`;
}

export function facts(run) {
  return html`<details><summary>Command, folder and versions</summary>${commandLine(run.command.join(' '))}<p class="small"><code>${run.path}</code></p>
    <p class="soft small">${Object.entries(run.versions).map(([name, version]) => `${name} ${version ?? '–'}`).join(' · ')}</p></details>`;
}

export function log(run) {
  if (!run.log.length) return nothing;
  return html`<details><summary>The end of its log</summary><pre class="log" tabindex="0" aria-label="Log">${run.log.join('\n')}</pre></details>`;
}
