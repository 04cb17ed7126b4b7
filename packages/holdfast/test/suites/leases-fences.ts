/** Fences: each is greater than all earlier ones. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { keysOf } from '../../src/store/redis/keys.js';
import type { Backend } from '../support/backends.js';
import { aborted, freshKey, queued } from './helpers.js';

function growing(fences: readonly number[]): boolean {
  return fences.every((fence, at) => at === 0 || fence > (fences[at - 1] as number));
}

async function grants(instances: readonly Holdfast[], key: string, count: number) {
  const fences: number[] = [];
  for (let round = 0; round < count; round++) {
    const holdfast = instances[round % instances.length] as Holdfast;
    await holdfast.mutex(key).run(({ fence }) => {
      fences.push(fence);
    });
  }
  return fences;
}

export function leaseFences(backend: Backend): void {
  it('grow over many grants to several instances', async () => {
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make()));
    const fences = await grants(instances, freshKey(), 200);
    expect(growing(fences)).toBe(true);
    expect(fences.every((fence) => Number.isSafeInteger(fence))).toBe(true);
    // a regression would be detected
    expect(growing([...fences, fences[0] as number])).toBe(false);
    expect(growing([...fences, fences.at(-1) as number])).toBe(false);
  });

  it('grow over expiry and forced release', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const fences: number[] = [];
    for (let round = 0; round < 5; round++) {
      const lease = await one.mutex(key).acquire({ ttl: paced(50), renew: false });
      await aborted(lease.signal);
      const next = await other.mutex(key).acquire({ wait: 30_000 });
      fences.push(lease.fence, next.fence);
      await one.forceRelease(key);
      await next.release();
    }
    expect(growing(fences)).toBe(true);
  });

  it('grow when a local hand-off used reserved fences', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const fences: number[] = [];
    const note = ({ fence }: { fence: number }): void => {
      fences.push(fence);
    };
    const lease = await one.mutex(key).acquire();
    fences.push(lease.fence);
    const done = Array.from({ length: 40 }, (_, at) =>
      (at % 4 === 0 ? other : one).mutex(key).run(note),
    );
    await queued(one, key, 40, [other]);
    await lease.release();
    await Promise.all(done);
    expect(fences).toHaveLength(41);
    expect(growing(fences)).toBe(true);
  });

  if (backend.store !== 'redis') return;

  fencesOverLosses(backend);
}

function fencesOverLosses(backend: Backend): void {
  it.each(['SCRIPT FLUSH', 'FLUSHALL'])('grow over %s', async (command) => {
    const instances = [await backend.make(), await backend.make()];
    const key = freshKey();
    const before = await grants(instances, key, 20);
    await backend.admin.command(...command.split(' '));
    const after = await grants(instances, key, 20);
    expect(growing([...before, ...after])).toBe(true);
  });

  it('grow over the deletion of the key, for any number of allowed hand-offs', async () => {
    const one = await backend.make({ localHandOffs: 1000 });
    const key = freshKey();
    const before = await grants([one], key, 500);
    await backend.admin.command('DEL', ...keysOf('holdfast:', key));
    const after = await grants([one], key, 2);
    expect(growing([...before, ...after])).toBe(true);
  });

  it('grow over a restart that loses all data', async () => {
    const instances = [await backend.make(), await backend.make()];
    const key = freshKey();
    const before = await grants(instances, key, 20);
    await backend.admin.restart();
    const after = await grants(instances, key, 20);
    expect(growing([...before, ...after])).toBe(true);
  });
}
