/** A process that comes to a fair lock which the tasks of another one pass on without a pause. */
import type { Holdfast } from 'holdfast';
import { sleep } from 'holdfast-testkit';
import { now } from './orders.js';
import type { Settings } from './settings.js';

const ROUNDS = { quick: 1, full: 6 };
const TASKS = 4;
/** How long the lock is passed on before, in ms. */
const HOT_MS = 500;

/** @param open makes an instance, as in another process */
export async function printLate(open: () => Holdfast, { quick }: Settings): Promise<void> {
  const found: string[] = [];
  const rounds = ROUNDS[quick ? 'quick' : 'full'];
  for (let round = 0; round < rounds; round++) found.push(await late(open, `late ${round}`));
  console.log(
    `grants to ${TASKS} fair tasks before the first one to a late process, and the time:`,
  );
  console.log(`  ${found.join('; ')}`);
}

async function late(open: () => Holdfast, key: string): Promise<string> {
  const [early, other] = [open(), open()];
  // its connection is open, and its code is compiled
  await other.mutex('warm').run(() => undefined);
  let grants = 0;
  let hasEnded = false;
  const loop = async (): Promise<void> => {
    while (!hasEnded) await early.mutex(key, { fair: true }).run(() => void (grants += 1));
  };
  const loops = Array.from({ length: TASKS }, loop);
  await sleep(HOT_MS);
  const [before, from] = [grants, now()];
  const passed = await other.mutex(key, { fair: true }).run(() => grants - before);
  const ms = now() - from;
  hasEnded = true;
  await Promise.all(loops);
  await Promise.all([early.close(), other.close()]);
  return `${passed} in ${ms.toFixed(0)} ms`;
}
