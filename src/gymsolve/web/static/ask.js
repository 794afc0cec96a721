// Questions before something is done: a dialog with the exact command, and what came of it.
import { api } from './addresses.js';
import { get, post } from './api.js';
import { sentence } from './shell.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { count, duration } from './words.js';

/** Ask before an action without options, such as stopping; gives the answer, or null if it was called off.
 * `text` is a sentence, or makes one of what the server says of the action. */
export function confirmAction({ title, text, verb, path, body = {} }) {
  return dialog(async (box, done) => {
    const planned = await post(path, { ...body, dry_run: true });
    const told = typeof text === 'function' ? text(planned) : text;
    const act = guarded(box, async () => done(await post(path, { ...body, key: unique() })));
    box.draw(() => html`<h2>${title}</h2><p>${told}</p>${commandLine(planned.command)}${buttons(box, done, verb, act)}`);
  });
}

/** Ask what a new run should be: of an environment, or of a run that goes on or branches off. */
export function askForRun({ title, text, verb, path, body = {}, fields, values = {} }) {
  return dialog(async (box, done) => {
    let planned = null;
    const given = { ...values };
    const wanted = () => ({ ...body, ...read(given, fields) });
    const look = guarded(box, async () => { planned = await post(path, { ...wanted(), dry_run: true }); });
    const act = guarded(box, async () => {
      const begun = await post(path, { ...wanted(), key: unique() });
      const known = new Set(planned.doubts ?? planned.plan?.doubts ?? []);
      const doubts = (begun.doubts ?? []).filter((doubt) => !known.has(doubt));
      if (!doubts.length) done(begun);
      else box.draw(() => html`<h2>It has begun, with doubts</h2>${doubtful(doubts)}
        <p class="row end"><button type="button" class="main" @click=${() => done(begun)}>Go to it</button></p>`);
    });
    const changed = (name) => (event) => {
      given[name] = event.target.value;
      planned = null;
      box.redraw();
    };
    const names = fields.includes('env') ? (await get(api.recipes())).recipes : [];
    box.draw(() => html`<h2>${title}</h2>${text ? html`<p class="soft">${text}</p>` : nothing}
      <form @submit=${(event) => { event.preventDefault(); (planned ? act : look)(); }}>
        ${fields.map((name) => field(name, given[name] ?? '', changed(name), names, fields.includes('env') ? 'as in the recipe' : 'as it is'))}
        ${planned ? html`${plan(planned.plan, wanted().seeds)}${doubtful(planned.doubts ?? [])}${commandLine(planned.command)}` : nothing}
        ${buttons(box, done, planned ? verb : 'Show the command', planned ? act : look, 'submit')}
      </form>`);
  });
}

const FIELDS = {
  env: { label: 'Environment, or recipe', hint: 'CartPole-v1, LunarLander-v3:ppo, or any id of Gymnasium' },
  checkpoint: { label: 'From checkpoint', hint: 'best, last, or a number of steps; empty: the last one' },
  steps: { label: 'Steps', hint: 'Budget of the whole run; empty: USUAL', type: 'number' },
  seed: { label: 'Seed', hint: 'empty: USUAL', type: 'number' },
  seeds: { label: 'Number of seeds', hint: 'From that seed on, each a run of one group; empty: one', type: 'number' },
  set: { label: 'Settings to change', hint: 'One per line: algo.gamma=0.98' },
};

function field(name, value, changed, names, usual) {
  const { label, type } = FIELDS[name];
  const hint = FIELDS[name].hint.replace('USUAL', usual);
  const caption = html`<span>${label}</span>`;
  if (name === 'set') {
    return html`<label class="field">${caption}<textarea rows="3" placeholder=${hint} .value=${value} @input=${changed}
      spellcheck="false" class="code"></textarea></label>`;
  }
  const list = names.length && name === 'env' ? 'recipes' : nothing;
  return html`<label class="field">${caption}<input type=${type ?? 'text'} min="0" placeholder=${hint} .value=${value}
    @input=${changed} list=${list} autocomplete="off" spellcheck="false"></label>
    ${name === 'env' ? html`<datalist id="recipes">${names.map((recipe) => html`<option value=${recipe.name}>${recipe.description}</option>`)}</datalist>` : nothing}`;
}

function read(given, fields) {
  const request = {};
  for (const name of fields) {
    const text = String(given[name] ?? '').trim();
    if (!text) continue;
    if (name === 'set') request.set = text.split('\n');
    else request[name] = FIELDS[name].type === 'number' ? Number(text) : text;
  }
  return request;
}

function plan(planned, seeds = 1) {
  if (planned === undefined) return nothing;
  if (planned === null) return html`<p class="soft">Its settings will be derived from its facts.</p>`;
  return html`<p>${planned.description}</p>
    <p class="soft">${seeds > 1 ? `${count(seeds)} seeds of ` : ''}${count(planned.steps)} steps${planned.seconds ? html`, some ${duration(planned.seconds)} ${seeds > 1 ? 'each ' : ''}by ${planned.estimated_by}` : nothing}.</p>
    ${doubtful(planned.doubts)}`;
}

/** Settings that rarely work, each with what to try. */
export function doubtful(doubts) {
  if (!doubts.length) return nothing;
  return html`<div class="doubts"><b>${doubts.length === 1 ? 'A doubt' : 'Doubts'} about ${doubts.length === 1 ? 'a setting' : 'settings'}</b>
    <ul>${doubts.map((doubt) => html`<li>${doubt}</li>`)}</ul></div>`;
}

export function commandLine(command) {
  const copy = async ({ target }) => {
    try {
      await navigator.clipboard.writeText(command);
      target.textContent = 'Copied';
    } catch { // pages of other machines may not: then it is marked, for the keyboard
      getSelection().selectAllChildren(target.parentElement.querySelector('code'));
    }
  };
  return html`<div class="command"><pre tabindex="0" aria-label="Command"><code>${command}</code></pre>
    <button type="button" class="quiet small" @click=${copy}>Copy</button></div>`;
}

export function buttons(box, done, verb, act, type = 'button') {
  return html`${box.error ? html`<p class="bad" role="alert">${sentence(box.error)}</p>` : nothing}
    <p class="row end"><button type="button" @click=${() => done(null)}>Cancel</button>
    <button type=${type} class="main" ?disabled=${box.busy} @click=${type === 'button' ? act : nothing}>${box.busy ? 'One moment …' : verb}</button></p>`;
}

/** A click that takes a while: the button waits, and what goes wrong is told in the dialog. */
export function guarded(box, call) {
  return async () => {
    if (box.busy) return;
    Object.assign(box, { busy: true, error: null });
    box.redraw();
    try {
      await call();
    } catch (error) {
      box.error = error;
    }
    box.busy = false;
    box.redraw();
  };
}

export function dialog(fill) {
  return new Promise((resolve, reject) => {
    const element = document.createElement('dialog');
    document.body.append(element);
    let template = () => nothing;
    const box = {
      busy: false,
      error: null,
      draw(given) { template = given; box.redraw(); },
      redraw() { if (element.isConnected) render(template(), element); },
    };
    const done = (answer) => {
      element.remove();
      resolve(answer);
    };
    element.addEventListener('cancel', () => done(null));
    fill(box, done).then(() => {
      element.setAttribute('aria-label', element.querySelector('h2')?.textContent ?? 'Question');
      element.showModal();
    }, (error) => {
      element.remove();
      reject(error);
    });
  });
}

/** A key with which a repeated request starts nothing twice. */
function unique() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
