// Dialogs that rename, tag and delete runs; each gives the answer of the server, or null if it was called off.
import { api } from './addresses.js';
import { post } from './api.js';
import { buttons, confirmAction, dialog, guarded } from './ask.js';
import { html, nothing } from './vendor/lit-html.js';
import { count, dataSize } from './words.js';

/** The runs of a sentence: one by its id, several by their number. */
const named = (ids) => (ids.length === 1 ? ids[0] : `${count(ids.length)} runs`);

export function askForName(run) {
  return dialog(async (box, done) => {
    let label = run.label;
    const save = guarded(box, async () => done(await post(api.rename(run.id), { label })));
    box.draw(() => html`<h2>Name this run</h2><p class="soft">It is found by this name as by its id, which stays: ${run.id}</p>
      <form @submit=${(event) => { event.preventDefault(); save(); }}>
        <label class="field"><span>Name</span><input type="text" maxlength="80" .value=${label} placeholder="empty: no name"
          @input=${(event) => { label = event.target.value; }} autocomplete="off" spellcheck="false"></label>
        ${buttons(box, done, 'Save', save, 'submit')}</form>`);
  });
}

/** Ask for tags to add to some runs, and which of those that they have to remove. */
export function askForTags(ids, tags) {
  return dialog(async (box, done) => {
    let text = '';
    const removed = new Set();
    const save = guarded(box, async () => {
      const add = text.split(/[\s,]+/).filter(Boolean);
      if (!add.length && !removed.size) done(null);
      else done(await post(api.tagRuns(), { runs: ids, add, remove: [...removed] }));
    });
    const choose = (tag) => (event) => removed[event.target.checked ? 'delete' : 'add'](tag);
    box.draw(() => html`<h2>Tags of ${named(ids)}</h2>
      <form @submit=${(event) => { event.preventDefault(); save(); }}>
        ${tags.length ? html`<fieldset><legend>Keep</legend><div class="row">${tags.map((tag) => html`<label><input type="checkbox" .checked=${!removed.has(tag)} @change=${choose(tag)}> ${tag}</label>`)}</div></fieldset>` : nothing}
        <label class="field"><span>Add</span><input type="text" .value=${text} placeholder="baseline paper" @input=${(event) => { text = event.target.value; }}
          autocomplete="off" spellcheck="false"></label>
        <p class="soft small">The filter <code>tag:baseline</code> finds runs with a tag.</p>
        ${buttons(box, done, 'Save', save, 'submit')}</form>`);
  });
}

export function askToDelete(ids) {
  return confirmAction({
    title: `Delete ${named(ids)}?`, verb: 'Delete for good', path: api.deleteRuns(), body: { runs: ids },
    text: (planned) => html`This cannot be undone: ${dataSize(planned.bytes)} of checkpoints, curves and videos go.
      ${planned.trials.length ? html`${planned.trials.length === 1 ? 'A trial' : `${count(planned.trials.length)} trials`} of remedies for ${ids.length === 1 ? 'it' : 'them'} go, too.` : nothing}
      ${planned.forks.length ? html`Runs that began from ${ids.length === 1 ? 'it' : 'them'} stay: ${planned.forks.join(', ')}.` : nothing}`,
  });
}
