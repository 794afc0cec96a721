import { page } from './shell.js';

page('Compare').textContent = 'This page is not there yet.';
