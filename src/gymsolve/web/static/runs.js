import { page } from './shell.js';

page('Runs').textContent = 'This page is not there yet.';
