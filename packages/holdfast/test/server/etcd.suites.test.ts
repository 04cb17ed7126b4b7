/** Every suite on etcd. */
import { ETCD } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(ETCD);
