/** Every suite on a file of SQLite. */
import { SQLITE } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(SQLITE);
