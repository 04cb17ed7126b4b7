/**
 * What makes the store forget: everything, or what happened last. Grants from before and from after
 * may overlap then; fences still have to grow, and the resource has to refuse the older holder.
 */
import { cpSync, rmSync } from 'node:fs';
import { type Server, until } from 'holdfast-testkit';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS } from '../settings.js';
import { fill, serverMicros } from '../stage.js';
import type { Fault } from './fault.js';
import { logFolder } from './loading.js';

const emptied: Fault = {
  kind: 'server killed, comes back empty',
  async run(scene) {
    if (scene.clockIsBehind) return false;
    const { stage } = scene;
    scene.begin(this.kind);
    const [from, t] = [serverMicros(stage), monotonic()];
    await stage.main.kill();
    rmSync(logFolder(stage.main), { recursive: true, force: true });
    scene.lose({ from, to: serverMicros(stage), t });
    await stage.main.restart();
    await fill(stage.main);
    scene.end(this.kind);
    return true;
  },
};

/** Lets the log of commands be rewritten, or waits until it is not: files come and go then. */
async function rewriting(server: Server, allowed: boolean): Promise<void> {
  await server.command('CONFIG', 'SET', 'auto-aof-rewrite-percentage', allowed ? 100 : 0);
  const idle = async (): Promise<boolean> =>
    String(await server.command('INFO', 'persistence')).includes('aof_rewrite_in_progress:0');
  if (!allowed) await until(idle, { within: 20_000, what: 'no rewriting' });
}

/** It comes back with what it had some time ago, as one that saves every second may. */
const rewound: Fault = {
  kind: 'server killed, lost the last writes',
  async run(scene, random) {
    const { stage } = scene;
    const folder = logFolder(stage.main);
    const copy = `${folder}.copy`;
    await rewriting(stage.main, false);
    cpSync(folder, copy, { recursive: true });
    await scene.sleep(between(random, 20, 1500));
    if (scene.clockIsBehind) {
      rmSync(copy, { recursive: true });
      await rewriting(stage.main, true);
      return false;
    }
    scene.begin(this.kind);
    const [from, t] = [serverMicros(stage), monotonic()];
    await stage.main.kill();
    rmSync(folder, { recursive: true });
    cpSync(copy, folder, { recursive: true });
    rmSync(copy, { recursive: true });
    scene.lose({ from, to: serverMicros(stage), t });
    await stage.main.restart();
    scene.end(this.kind);
    return true;
  },
};

const flushed: Fault = {
  kind: 'FLUSHALL',
  async run(scene) {
    if (scene.clockIsBehind) return false;
    const [from, t] = [serverMicros(scene.stage), monotonic()];
    await scene.stage.main.command('FLUSHALL');
    scene.once(this.kind);
    scene.lose({ from, to: serverMicros(scene.stage) + 1000, t });
    await fill(scene.stage.main);
    return true;
  },
};

/** What a lock may have in the store: its record, its queue, its leases by expiry. */
const PARTS = ['', ':q', ':x'];

/** Another program, or eviction, deletes one of the keys that belong together. */
const deleted: Fault = {
  kind: 'keys deleted',
  async run(scene, random) {
    if (scene.clockIsBehind) return false;
    const { stage } = scene;
    // more than one, as most are not there at a given moment
    for (let count = 0; count < 4 && !scene.over; count++) {
      const [k, part] = [pick(random, LOCKS), pick(random, PARTS)];
      const [from, t] = [serverMicros(stage), monotonic()];
      const removed = await stage.main.command('DEL', `holdfast:{${k}}${part}`);
      scene.once(`${this.kind}: ${part === '' ? 'record' : part}`);
      if (removed !== 0) scene.lose({ from, to: serverMicros(stage) + 1000, t, k });
      await scene.sleep(between(random, 5, 200));
      if (scene.clockIsBehind) break;
    }
    return true;
  },
};

export const forgettingFaults: readonly Fault[] = [emptied, rewound, flushed, deleted];
