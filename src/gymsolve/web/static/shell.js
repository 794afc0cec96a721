// What every page has: the header, the theme, and the bar that tells what went wrong.
import { pages } from './addresses.js';
import { html, nothing, render } from './vendor/lit-html.js';

const LINKS = [[pages.runs(), 'Runs'], [pages.play(), 'Play'], [pages.inspect(), 'Inspect']];
const ICON = new URL('./icon.svg', import.meta.url).href;
const THEMES = ['system', 'light', 'dark'];

/** Draw the header, set the title, and return the element that the page fills. */
export function page(title) {
  document.title = `${title} · gymsolve`;
  drawHeader();
  const main = document.getElementById('page');
  main.replaceChildren();
  return main;
}

/** Tell an error in one sentence, with the fix; `showError(null)` takes it back. */
export function showError(error) {
  let bar = document.getElementById('trouble');
  if (!bar) {
    bar = document.createElement('div');
    bar.id = 'trouble';
    bar.setAttribute('role', 'alert');
    document.getElementById('top').after(bar);
  }
  bar.hidden = !error;
  render(error ? html`<p>${sentence(error)}</p>
    <button type="button" class="quiet" @click=${() => showError(null)} aria-label="Close this message">×</button>`
    : nothing, bar);
}

/** An error as people read it: the sentence, what it is about, the fix. */
export function sentence(error) {
  const { where, hint } = error;
  return html`${capital(typeof error === 'string' ? error : error.text ?? error.message ?? String(error))}${
    where ? html` <span class="hint">(${where})</span>` : nothing}${hint ? html` <span class="hint">${hint}</span>` : nothing}`;
}

/** The first letter of a sentence as it is at its start. */
export function capital(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}

/** Colours of the theme that is shown now, for canvases: `colour('ink')`, `colour('c0')`. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Call a function whenever the theme changes. */
export function onTheme(call) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', call);
  addEventListener('gymsolve-theme', call);
}

function drawHeader() {
  const here = location.pathname;
  const link = ([path, name]) => {
    const current = path === here || (path === pages.runs() && (here.startsWith(pages.run('')) || here === pages.compare()));
    return html`<a href=${path} aria-current=${current ? 'page' : nothing}>${name}</a>`;
  };
  const theme = localStorage.getItem('gymsolve.theme') ?? 'system';
  render(html`<a class="mark" href="/"><img src=${ICON} alt="" width="22" height="22">gymsolve</a>
    <nav aria-label="Pages">${LINKS.map(link)}</nav>
    <label class="theme"><span>Theme</span> <select @change=${chooseTheme}>
      ${THEMES.map((name) => html`<option ?selected=${name === theme}>${name}</option>`)}</select></label>`,
    document.getElementById('top'));
}

function chooseTheme(event) {
  const name = event.target.value;
  if (name === 'system') {
    localStorage.removeItem('gymsolve.theme');
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem('gymsolve.theme', name);
    document.documentElement.dataset.theme = name;
  }
  dispatchEvent(new Event('gymsolve-theme'));
}
