// A language model's opinion of the episode: what would be sent is shown first; nothing goes without a click.
import { api } from '../addresses.js';
import { get, post } from '../api.js';
import { html, nothing, render } from '../vendor/lit-html.js';

export const review = {
  id: 'review',
  title: 'Review by a language model',
  wide: true,
  make(element, view) {
    const place = [view.run.run, view.episode.name];
    let question = '';
    let picture = true;
    let shown = null;
    let reviews = [];
    let busy = '';
    let note = '';
    let asking = false;

    const wish = () => ({ question, ...(picture ? {} : { picture: 'no' }) });

    async function run(words, work) {
      busy = words;
      note = '';
      draw();
      try {
        await work();
      } catch (error) {
        view.fail(error);
      }
      busy = '';
      draw();
    }

    const show = () => run('Writing the prompt …', async () => {
      shown = await get(api.review(...place, wish()));
      reviews = shown.reviews;
    });

    const copy = () => run('Copying …', async () => {
      await navigator.clipboard.writeText(shown.text);
      note = 'Copied.';
    });

    const send = () => run(`Asking ${shown.to.host} …`, async () => {
      asking = false;
      reviews = (await post(api.review(...place), { ...wish(), digest: shown.digest })).reviews;
    });

    function draw() {
      const playing = view.episode.facts.state === 'playing';
      render(html`<div class="row"><label class="grow">Your question (optional) <input type="text" maxlength="2000" .value=${question}
          @input=${(event) => { question = event.target.value; shown = null; asking = false; draw(); }}></label>
        <label><input type="checkbox" .checked=${picture} @change=${(event) => { picture = event.target.checked; shown = null; asking = false; draw(); }}> with pictures</label>
        <button type="button" class="main" data-do="prompt" ?disabled=${Boolean(busy) || playing} @click=${show}>Show the prompt</button>
        <span class="soft small" role="status">${playing ? 'Wait for the end of the episode.' : busy || note}</span></div>
        ${shown ? prompt() : nothing}${reviews.map(answer)}`, element);
    }

    function prompt() {
      const { to, text_bytes: text, picture_bytes: pixels } = shown;
      const size = `${text.toLocaleString('en')} bytes of text${pixels ? ` and a picture of ${pixels.toLocaleString('en')} bytes` : ''}`;
      return html`<details><summary>The prompt: ${size}</summary>
          <pre tabindex="0" class="prompt" data-prompt>${shown.text}</pre>
          ${pixels ? html`<img class="sheet" alt="Pictures of some states, row by row" src=${api.reviewPicture(...place, wish())}>` : nothing}</details>
        <div class="row"><button type="button" data-do="copy" @click=${copy}>Copy to the clipboard</button>
          ${to ? html`<button type="button" data-do="ask" ?disabled=${Boolean(busy) || asking} @click=${() => { asking = true; draw(); }}>Send to ${to.host} …</button>`
            : html`<span class="soft small">To send it from here, set <code>GYMSOLVE_CHAT_URL</code>, <code>GYMSOLVE_CHAT_MODEL</code> and
              <code>GYMSOLVE_CHAT_KEY</code> before starting the server.</span>`}</div>
        ${asking ? html`<div class="card confirm" role="group" aria-label="Send it?"><p>Send ${size} about this episode to <b>${to.host}</b>, model <b>${to.model}</b>${
          to.key ? '' : ', without a key'}? It leaves this machine unless that server runs on it.</p>
          <div class="row"><button type="button" class="main" data-do="send" @click=${send}>Send it</button>
            <button type="button" @click=${() => { asking = false; draw(); }}>Do not send</button></div></div>` : nothing}`;
    }

    function answer(stored) {
      return html`<article class="card review"><p class="soft small">${stored.model} at ${stored.host}, ${new Date(stored.time).toLocaleString()}${
        stored.tokens ? `, ${stored.tokens.toLocaleString('en')} tokens` : ''}${stored.question ? html`<br>${stored.question}` : nothing}</p>
        <div class="answer" data-answer>${stored.answer}</div></article>`;
    }

    get(api.reviewAnswers(...place)).then((answered) => {
      reviews = answered.reviews;
      draw();
    }).catch(view.fail);
    draw();
    return { show() {}, grow: draw };
  },
};
