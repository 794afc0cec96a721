// Runs before anything is drawn, so that no page flashes in the other theme. Not a module: modules wait.
(() => {
  const kept = localStorage.getItem('gymsolve.theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
})();
