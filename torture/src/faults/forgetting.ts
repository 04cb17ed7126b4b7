/**
 * What makes the store forget: everything, or what happened last. Grants from before and from after
 * may overlap then; fences still have to grow, and the resource has to refuse the older holder.
 */
import { cpSync, rmSync } from 'node:fs';
import { between } from 'holdfast-trials/support/random';
import { fill, serverMicros } from '../stage.js';
import type { Fault } from './fault.js';
import { logFolder } from './loading.js';

const emptied: Fault = {
  kind: 'server killed, comes back empty',
  async run(scene) {
    if (scene.clockIsBehind) return false;
    const { stage } = scene;
    scene.begin(this.kind);
    const from = serverMicros(stage);
    await stage.main.kill();
    rmSync(logFolder(stage.main), { recursive: true, force: true });
    scene.forget(this.kind, from, serverMicros(stage));
    await stage.main.restart();
    await fill(stage.main);
    scene.end(this.kind);
    return true;
  },
};

/** It comes back with what it had some time ago, as one that saves every second may. */
const rewound: Fault = {
  kind: 'server killed, lost the last writes',
  async run(scene, random) {
    const { stage } = scene;
    const folder = logFolder(stage.main);
    const copy = `${folder}.copy`;
    cpSync(folder, copy, { recursive: true });
    await scene.sleep(between(random, 20, 1500));
    if (scene.clockIsBehind) {
      rmSync(copy, { recursive: true });
      return false;
    }
    scene.begin(this.kind);
    const from = serverMicros(stage);
    await stage.main.kill();
    rmSync(folder, { recursive: true });
    cpSync(copy, folder, { recursive: true });
    rmSync(copy, { recursive: true });
    scene.forget(this.kind, from, serverMicros(stage));
    await stage.main.restart();
    scene.end(this.kind);
    return true;
  },
};

const flushed: Fault = {
  kind: 'FLUSHALL',
  async run(scene) {
    if (scene.clockIsBehind) return false;
    const from = serverMicros(scene.stage);
    await scene.stage.main.command('FLUSHALL');
    scene.once(this.kind);
    scene.forget(this.kind, from, serverMicros(scene.stage) + 1000);
    await fill(scene.stage.main);
    return true;
  },
};

export const forgettingFaults: readonly Fault[] = [emptied, rewound, flushed];
