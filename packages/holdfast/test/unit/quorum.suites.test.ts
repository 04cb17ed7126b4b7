/** Every suite on the quorum store. */
import { QUORUM } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(QUORUM);
