// A CommonJS module that uses the entries of the package.
const { Holdfast, HoldfastError, isHoldfastError } = require('holdfast');
const { HoldfastCore } = require('holdfast/core');
const { fencedSet } = require('holdfast/fence');
const { memory } = require('holdfast/memory');
const { createMutex } = require('holdfast/mutex');
const { redis } = require('holdfast/redis');

async function main() {
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
    const other = await import('holdfast');
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
}

void main();
