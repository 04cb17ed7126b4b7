/** Every suite on etcd. */
import { afterAll } from 'vitest';
import { ETCD, stopEtcd } from '../support/etcd-backend.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(ETCD);
afterAll(stopEtcd);
