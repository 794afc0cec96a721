import { page } from './shell.js';

page('Play').textContent = 'This page is not there yet.';
