/** Suites with clients of valkey-glide, on one server and on a cluster. */
import { glideOn, glideOnCluster } from '../support/glide.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(glideOn('valkey'), ({ glide }) => glide === true);
suitesOn(glideOnCluster('valkey'), ({ name }) => name === 'mutex');
