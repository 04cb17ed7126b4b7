/**
 * Loads the modules that the library loads at their first use, before any test: the order of a
 * test must not depend on the time at which a module is loaded.
 */
import { preload } from '../../src/preload.js';

await Promise.all([
  preload(),
  import('../../src/clients/detect.js'),
  import('../../src/store/redis/redis-store.js'),
  import('../../src/store/redis/script.js').then(({ TEXTS }) => TEXTS.load()),
]);
