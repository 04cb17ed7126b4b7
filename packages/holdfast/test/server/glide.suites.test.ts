/** Suites with clients of valkey-glide, on one server and on a cluster. */
import { onBackends } from '../support/backends.js';
import { glideOn, glideOnCluster } from '../support/glide.js';
import { conditionSuite } from '../suites/condition.js';
import { mutexSuite } from '../suites/mutex.js';
import { semaphoreSuite } from '../suites/semaphore.js';

const SERVER = glideOn('valkey');

onBackends('condition', [SERVER], conditionSuite);
onBackends('mutex', [SERVER, glideOnCluster('valkey')], mutexSuite);
onBackends('semaphore', [SERVER], semaphoreSuite);
