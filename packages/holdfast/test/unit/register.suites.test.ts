/** Every suite on the register store. */
import { REGISTER } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(REGISTER);
