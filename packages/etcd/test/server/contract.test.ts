/** The contract of registers, on one member and on three. */
import { registerCases } from 'holdfast/register/contract';
import { describe, it } from 'vitest';
import { onCluster } from '../support.js';

describe.each([1, 3])('on %d members', (members) => {
  const test = onCluster({ members });
  for (const one of registerCases) it(one.name, () => one.run(() => test.register()), 60_000);
});
