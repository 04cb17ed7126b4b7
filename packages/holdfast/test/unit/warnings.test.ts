/** The set-up notices warnings of Node: without that, `afterAll` of each file finds nothing. */
import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeWarnings } from '../support/warnings.js';

// Node's own listener prints each warning; a green run prints none
const printers = process.listeners('warning').filter(({ name }) => name === 'onWarning');
beforeAll(() => {
  for (const printer of printers) process.off('warning', printer);
});
afterAll(() => {
  for (const printer of printers) process.on('warning', printer);
});

it('notices a warning about too many listeners', async () => {
  const emitter = new EventEmitter();
  for (let count = 0; count < 11; count++) emitter.on('event', () => undefined);
  const warnings = await takeWarnings();
  expect(warnings.map(({ name }) => name)).toEqual(['MaxListenersExceededWarning']);
  expect(await takeWarnings()).toEqual([]);
});

it('ignores deprecated features of dependencies', async () => {
  process.emitWarning('a deprecated feature', 'DeprecationWarning');
  expect(await takeWarnings()).toEqual([]);
});
