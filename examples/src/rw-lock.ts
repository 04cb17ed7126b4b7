/**
 * A catalogue with many readers and one writer. The writer downgrades to a reader before it
 * announces the new version, so no other writer can change it in between. For a server, replace
 * `memory()` by a Redis client.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());
const lock = holdfast.rwLock('catalogue');
let version = 1;

async function read(name: string): Promise<void> {
  await lock.read.run(async () => {
    console.log(`${name} reads version ${version}`);
    await sleep(10);
  });
}

const rewriting = lock.write.run(async (lease) => {
  version += 1;
  console.log(`rewritten as version ${version}`);
  await lease.downgrade();
  console.log(`a ${lease.mode}er announces version ${version}`);
});
await Promise.all([read('anna'), read('bert'), rewriting, read('carl')]);

await lock.read.run(async (lease) => {
  const alone = await lease.tryUpgrade();
  console.log(alone ? 'the only reader became a writer' : 'others read too');
});
await holdfast.close();
