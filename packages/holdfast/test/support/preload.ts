/**
 * Loads the code of the store on Redis before any test: the order of a test must not depend on the
 * time at which a module is loaded.
 */
await Promise.all([
  import('../../src/store/clients/detect.js'),
  import('../../src/store/redis/redis-store.js'),
]);
