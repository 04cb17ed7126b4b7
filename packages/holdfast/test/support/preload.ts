/**
 * Loads before any test what is loaded later, such as the store on Redis: the order of a test must
 * not depend on the time at which a module is loaded.
 */
await Promise.all([
  import('../../src/instance/health.js'),
  import('../../src/store/clients/detect.js'),
  import('../../src/store/redis/redis-store.js'),
]);
