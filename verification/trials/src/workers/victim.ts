/** A process of the trial `leaks` that acquires, waits and releases until it is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { OPTIONS } from '../leaks/settings.js';
import { connect } from '../support/clients.js';
import { lockOf, some } from '../support/locks.js';
import { between, pick, randomFrom } from '../support/random.js';
import { given, send } from '../support/workers.js';
import type { Given } from './leaks.js';

const TASKS = 4;

const all = given<Given>();
const { client } = await connect(all.client, all.url);
const holdfast = new Holdfast(client, OPTIONS);

async function task(index: number): Promise<never> {
  const random = randomFrom(all.seed * 1000 + index);
  for (;;) {
    const share = some(all.primitive, random);
    const lock = lockOf(all.primitive, holdfast, pick(random, all.keys), {}, share);
    const lease = await lock.acquire();
    await sleep(between(random, 0, 20));
    await lease.release();
  }
}

await send('ready');
await Promise.all(Array.from({ length: TASKS }, (_, index) => task(index)));
