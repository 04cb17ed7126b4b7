/** Every suite on PostgreSQL. */
import { POSTGRES } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(POSTGRES);
