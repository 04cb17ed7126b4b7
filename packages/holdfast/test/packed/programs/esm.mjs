// An ES module that uses the entries of the package.
import { createRequire } from 'node:module';
import { Holdfast, HoldfastError, isHoldfastError } from 'holdfast';
import { HoldfastCore } from 'holdfast/core';
import { fencedSet } from 'holdfast/fence';
import { memory } from 'holdfast/memory';
import { createMutex } from 'holdfast/mutex';
import { redis } from 'holdfast/redis';

const holdfast = new Holdfast(memory());
const first = await holdfast.mutex('key').run(({ fence }) => fence);
const core = new HoldfastCore(memory());
await createMutex(core, 'key').run(() => undefined);
let error;
try {
  holdfast.mutex('');
} catch (caught) {
  error = caught;
}
let across = true;
if (!process.argv.includes('--alone')) {
  const other = createRequire(import.meta.url)('holdfast');
  across = other.isHoldfastError(error) && error instanceof other.HoldfastError;
}
// the code of the doctor is loaded now
const { findings } = await holdfast.doctor();
await holdfast.close();
await core.close();
const own = error instanceof HoldfastError && isHoldfastError(error, 'HOLDFAST_BAD_OPTION');
console.log(
  JSON.stringify({
    fence: first > 0,
    own,
    across,
    doctor: findings.length === 0,
    redis: typeof redis,
    fencedSet: typeof fencedSet,
  }),
);
