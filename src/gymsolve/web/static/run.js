import { page } from './shell.js';

page('Run').textContent = 'This page is not there yet.';
