/** The hold of another library's lock, in virtual time. */
import { describe, expect, it } from 'vitest';
import { SuspendDetector } from '../../../src/lease/local-time.js';
import { OldHold } from '../../../src/instance/migrate/old-hold.js';
import type { OldLock } from '../../../src/instance/migrate/old-lock.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const TTL = 1000;

/** A hold, its lock on a server that can fail, and the number of calls when it was lost. */
function makeHold() {
  const clock = new VirtualClock();
  const suspend = new SuspendDetector(clock);
  const server = { answers: true, knows: true, end: 0, renewals: [] as number[], delays: [0] };
  const ask = async (): Promise<0 | 1> => {
    if (!server.answers) throw new Error('no answer');
    return server.knows ? 1 : 0;
  };
  const lock = {
    key: 'old',
    take: ask,
    renew: async (_clock: unknown, _limit: number, _holder: string, ms: number) => {
      server.renewals.push(ms);
      server.end = clock.now() + ms;
      const delay = server.delays.shift() ?? 0;
      if (delay > 0) await new Promise<void>((resolve) => clock.after(delay, resolve));
      return ask();
    },
    release: ask,
  } as unknown as OldLock;
  const parts = { lock, holder: 'me', ttl: TTL, clock, suspend, requestTimeout: 200 };
  const lost = { count: 0 };
  const hold = new OldHold(parts, suspend.moment(), {
    lost: () => {
      lost.count += 1;
    },
    isWanted: () => true,
  });
  return { clock, hold, lost, server };
}

describe('the lock of the other library', () => {
  it('is renewed at half of its ttl, by timers that keep no process alive', async () => {
    const { clock, hold, lost, server } = makeHold();
    await clock.advance(10 * TTL);
    expect(server.renewals.length).toBe(20);
    expect([lost.count, hold.remaining > 0, clock.timers('strong')]).toEqual([0, true, 0]);
    expect(await hold.release()).toBe(true);
    expect(clock.timers()).toBe(0);
  });

  it('is over before the server ends it, if no renewal is answered', async () => {
    const { clock, hold, lost, server } = makeHold();
    server.answers = false;
    await clock.advance(TTL - 20);
    expect([lost.count, hold.remaining > 0]).toEqual([0, true]);
    await clock.advance(19);
    expect([lost.count, hold.remaining]).toEqual([1, 0]);
    expect(server.renewals.length).toBeGreaterThan(3);
    server.answers = true;
    expect(await hold.release()).toBe(false);
  });

  it('is over at the first answer that it belongs to another holder', async () => {
    const { clock, hold, lost, server } = makeHold();
    server.knows = false;
    await clock.advance(TTL / 2);
    expect([lost.count, hold.remaining, await hold.verify()]).toEqual([1, 0, false]);
  });

  it('is over at the first look after a stall, before any timer', () => {
    const { clock, hold, lost } = makeHold();
    clock.stall(TTL);
    expect([hold.remaining, lost.count]).toEqual([0, 1]);
  });

  it('is in doubt after a suspend, until a renewal is answered', async () => {
    const { clock, hold, lost, server } = makeHold();
    clock.sleep(60_000);
    expect([hold.remaining, lost.count]).toEqual([0, 0]);
    expect(await hold.verify()).toBe(true);
    expect(hold.remaining).toBeGreaterThan(900);
    clock.sleep(60_000);
    server.knows = false;
    expect([await hold.verify(), lost.count]).toEqual([false, 1]);
  });

  it('stays in doubt while no answer comes, and then ends', async () => {
    const { clock, hold, server } = makeHold();
    clock.sleep(60_000);
    server.answers = false;
    const verified = hold.verify();
    await clock.advance(TTL);
    expect(await verified).toBe(false);
  });

  it('keeps an extension over later renewals', async () => {
    const { clock, hold } = makeHold();
    await hold.extend(10 * TTL);
    expect(hold.remaining).toBeGreaterThanOrEqual(10 * TTL);
    await clock.advance(TTL);
    expect(hold.remaining).toBeGreaterThanOrEqual(9 * TTL);
  });

  it.each([
    ['that is sent while the answer to the extension is under way', 480, [100, 0]],
    ['that is answered after the extension', 510, [200, 0]],
  ])('keeps an extension over a renewal %s', async (_, at, delays) => {
    const { clock, hold, server } = makeHold();
    await clock.advance(at - 20);
    server.delays = delays;
    await clock.advance(20);
    const extended = hold.extend(10 * TTL);
    await clock.advance(250);
    await extended;
    expect(server.end - clock.now()).toBeGreaterThan(9 * TTL);
    expect(hold.remaining).toBeGreaterThan(9 * TTL);
  });
});
