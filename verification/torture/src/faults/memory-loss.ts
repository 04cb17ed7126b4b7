/**
 * Faults that make the store lose all its data, or its last writes. Leases from before and after
 * the loss may then overlap. Fences must still grow, and the resource must refuse the older holder.
 */
import { cpSync, rmSync } from 'node:fs';
import { type Server, until } from 'holdfast-testkit';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS } from '../settings.js';
import { fill, serverMicros } from '../scenario.js';
import type { Fault } from './fault.js';
import { logFolder } from './loading.js';

const emptied: Fault = {
  kind: 'server killed, comes back empty',
  async run(context) {
    if (context.clockIsBehind) return false;
    const { scenario } = context;
    context.begin(this.kind);
    const [from, t] = [serverMicros(scenario), monotonic()];
    await scenario.main.kill();
    rmSync(logFolder(scenario.main), { recursive: true, force: true });
    context.noteDataLoss({ from, to: serverMicros(scenario), t });
    await scenario.main.restart();
    await fill(scenario.main);
    context.end(this.kind);
    return true;
  },
};

/** Allows rewrites of the append-only file, or forbids them and waits until none is active. */
async function rewriting(server: Server, allowed: boolean): Promise<void> {
  await server.command('CONFIG', 'SET', 'auto-aof-rewrite-percentage', allowed ? 100 : 0);
  const idle = async (): Promise<boolean> =>
    String(await server.command('INFO', 'persistence')).includes('aof_rewrite_in_progress:0');
  if (!allowed)
    await until(idle, { within: 20_000, what: 'the rewrite of the append-only file to end' });
}

/** The server restarts with the data of a moment ago, as with `appendfsync everysec`. */
const rewound: Fault = {
  kind: 'server killed, lost the last writes',
  async run(context, random) {
    const { scenario } = context;
    const folder = logFolder(scenario.main);
    const copy = `${folder}.copy`;
    await rewriting(scenario.main, false);
    cpSync(folder, copy, { recursive: true });
    await context.sleep(between(random, 20, 1500));
    if (context.clockIsBehind) {
      rmSync(copy, { recursive: true });
      await rewriting(scenario.main, true);
      return false;
    }
    context.begin(this.kind);
    const [from, t] = [serverMicros(scenario), monotonic()];
    await scenario.main.kill();
    rmSync(folder, { recursive: true });
    cpSync(copy, folder, { recursive: true });
    rmSync(copy, { recursive: true });
    context.noteDataLoss({ from, to: serverMicros(scenario), t });
    await scenario.main.restart();
    context.end(this.kind);
    return true;
  },
};

const flushed: Fault = {
  kind: 'FLUSHALL',
  async run(context) {
    if (context.clockIsBehind) return false;
    const [from, t] = [serverMicros(context.scenario), monotonic()];
    await context.scenario.main.command('FLUSHALL');
    context.once(this.kind);
    context.noteDataLoss({ from, to: serverMicros(context.scenario) + 1000, t });
    await fill(context.scenario.main);
    return true;
  },
};

/** Suffixes of the keys of a lock: its record, its queue, its leases by expiry. */
const PARTS = ['', ':q', ':x'];

/** Another program, or eviction, deletes one of the keys of a lock. */
const deleted: Fault = {
  kind: 'keys deleted',
  async run(context, random) {
    if (context.clockIsBehind) return false;
    const { scenario } = context;
    // several times, because most of the keys do not exist at a given moment
    for (let count = 0; count < 4 && !context.over; count++) {
      const [k, part] = [pick(random, LOCKS), pick(random, PARTS)];
      const [from, t] = [serverMicros(scenario), monotonic()];
      const removed = await scenario.main.command('DEL', `holdfast:{${k}}${part}`);
      context.once(`${this.kind}: ${part === '' ? 'record' : part}`);
      if (removed !== 0) context.noteDataLoss({ from, to: serverMicros(scenario) + 1000, t, k });
      await context.sleep(between(random, 5, 200));
      if (context.clockIsBehind) break;
    }
    return true;
  },
};

export const memoryLossFaults: readonly Fault[] = [emptied, rewound, flushed, deleted];
