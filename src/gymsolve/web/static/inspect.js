import { page } from './shell.js';

page('Inspect').textContent = 'This page is not there yet.';
