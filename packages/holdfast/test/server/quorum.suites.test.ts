/** Every suite on a quorum of three servers. `HOLDFAST_QUORUM=5` or `=7` takes more servers. */
import { quorumOf } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(quorumOf(Number(process.env['HOLDFAST_QUORUM'] ?? 3)));
