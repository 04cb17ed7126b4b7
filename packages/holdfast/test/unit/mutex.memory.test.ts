/** The mutex in memory. */
import { MEMORY } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(MEMORY, ({ name }) => name === 'mutex');
