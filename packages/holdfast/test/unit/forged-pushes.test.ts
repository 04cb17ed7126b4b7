/**
 * A push from a sender other than the store: any client with permission to publish to a wake
 * channel can send one. A process accepts only the terms that it asked for, or asks the store.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Push } from '../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../src/index.js';
import type { WakeChannel, WakeListener } from '../../src/store/port.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const TTL = 30_000;
const CLAIM = 1000;

/** A store whose wake channels accept forged messages. */
class OpenStore extends WatchedStore {
  readonly listeners: WakeListener[] = [];

  override listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    this.listeners.push(listener);
    return super.listen(name, listener);
  }

  publish(push: Push): void {
    for (const listener of this.listeners) listener.push(push);
  }
}

let clock: VirtualClock;
let store: OpenStore;
let holder: Lease;
let waited: Lease | undefined;
let other: Holdfast;
let giveUp: AbortController;

/** The token in the request of the waiter of `k`. */
function tokenOfWaiter(): string {
  const tokens = store.seen('acquire').map((one) => one.token);
  return tokens.at(-1) as string;
}

async function idOfWaiter(): Promise<string> {
  const info = await other.inspect('k');
  return info?.waiters[0]?.id as string;
}

/** Commands that the store received since then. */
async function commandsDuring(work: () => void | Promise<void>): Promise<string[]> {
  const before = store.batches.length;
  await work();
  await clock.advance(0);
  return store.batches.slice(before).flatMap((batch) => batch.map(({ op }) => op));
}

async function forge(more: Partial<Extract<Push, { kind: 'grant' }>> = {}): Promise<Push> {
  const now = (clock.wall() + 5) * 1000;
  return {
    ...{ kind: 'grant', id: await idOfWaiter(), fence: now + 1, now, left: 864_000_000_000 },
    ...{ handOffs: 0, holds: 1, token: '' },
    ...more,
  };
}

beforeEach(async () => {
  clock = new VirtualClock();
  store = new OpenStore(clock);
  waited = undefined;
  const make = (): Holdfast => new Holdfast(store, { clock, ttl: TTL, claimWindow: CLAIM });
  const one = make();
  other = make();
  const held = one.mutex('k').acquire();
  await clock.advance(10);
  holder = await held;
  giveUp = new AbortController();
  const got = (lease: Lease): void => {
    waited = lease;
  };
  other
    .mutex('k')
    .acquire({ signal: giveUp.signal })
    .then(got, () => undefined);
  await clock.advance(100);
});

describe('a forged grant', () => {
  it("without the waiter's token is ignored, and costs no command", async () => {
    const pushes = [await forge(), await forge({ token: 'x'.repeat(16) })];
    expect(tokenOfWaiter()).toMatch(/^[\w-]{16}$/);
    pushes.push(await forge({ token: `${tokenOfWaiter()} ` }));
    const commands = await commandsDuring(() => pushes.forEach((push) => store.publish(push)));
    expect(commands).toEqual([]);
    expect(waited).toBeUndefined();
    expect(holder.held).toBe(true);
  });

  it('with the token ends when the store answers the claim', async () => {
    store.publish(await forge({ token: tokenOfWaiter() }));
    await clock.advance(0);
    expect([waited?.state, waited?.signal.aborted]).toEqual(['lost', true]);
  });

  it('with the token lasts no longer than the requested ttl', async () => {
    store.ail('renew', 'lost');
    store.publish(await forge({ token: tokenOfWaiter() }));
    await clock.advance(0);
    expect(waited?.remaining).toBeLessThanOrEqual(CLAIM);
    expect(waited?.remaining).toBeGreaterThan(0);
  });

  it.each([
    ['a fence that no store grants', { fence: Number.MAX_SAFE_INTEGER }],
    ['a fence that is not a number', { fence: Number.NaN }],
    ['a fence below the time of the grant', { fence: 5 }],
    ['a time that is not a number', { now: Number.NaN }],
    ['a time far ahead of the last reply', { ahead: 3_600_000_000 }],
    ['more hand-offs than requested', { handOffs: 129 }],
    ['several holds without an owner', { holds: 2 }],
    ['no holds', { holds: 0 }],
    ['an endless lease', { left: Number.POSITIVE_INFINITY }],
  ])(
    'with the token, and %s, makes the waiter ask the store',
    async (_, { ahead = 0, ...more }: object & { ahead?: number }) => {
      const push = await forge({ token: tokenOfWaiter(), ...more });
      if (ahead > 0 && push.kind === 'grant') {
        Object.assign(push, { now: push.now + ahead, fence: push.fence + ahead });
      }
      expect(await commandsDuring(() => store.publish(push))).toEqual(['acquire']);
      expect(waited).toBeUndefined();
    },
  );

  it('for an abandoned acquisition costs no command without its token', async () => {
    const push = await forge();
    const genuine = await forge({ token: tokenOfWaiter() });
    giveUp.abort();
    await clock.advance(10);
    expect(await commandsDuring(() => store.publish(push))).toEqual([]);
    expect(await commandsDuring(() => store.publish(genuine))).toEqual(['release']);
  });
});

describe('the token of a waiter', () => {
  it('is its own, and changes with each request', async () => {
    void other.mutex('k').acquire({ fair: true });
    await clock.advance(2 * CLAIM);
    for (const listener of store.listeners) listener.up();
    await clock.advance(10);
    const tokens = store.seen('acquire').filter(({ token }) => token !== '');
    expect(tokens).toHaveLength(4);
    expect(new Set(tokens.map(({ token }) => token)).size).toBe(4);
    expect(new Set(tokens.map(({ id }) => id)).size).toBe(2);
  });

  it('expires when a later request is answered, so an old push is not accepted', async () => {
    const old = await forge({ token: tokenOfWaiter(), left: CLAIM * 1000 });
    for (const listener of store.listeners) listener.up();
    await clock.advance(10);
    expect(await commandsDuring(() => store.publish(old))).toEqual([]);
    expect(waited).toBeUndefined();
    // The store would answer to the claim that it does not know the lease.
    store.ail('renew', 'lost');
    store.publish(await forge({ token: tokenOfWaiter(), left: CLAIM * 1000 }));
    await clock.advance(0);
    expect(waited?.held).toBe(true);
  });

  it('is not shown by inspect', async () => {
    expect(JSON.stringify(await other.inspect('k'))).not.toContain(tokenOfWaiter());
  });

  it('is not sent by a process that never waited', () => {
    expect(store.seen('acquire')[0]?.token).toBe('');
  });

  it('accepts a real grant at once', async () => {
    void holder.release();
    await clock.advance(1);
    expect(waited?.held).toBe(true);
  });
});

describe('a revocation', () => {
  beforeEach(async () => {
    void holder.release();
    await clock.advance(10);
  });

  it('that is forged costs one request, however often it is sent, and ends no lease', async () => {
    store.ail('poll', 20);
    const id = waited?.id as string;
    const commands = await commandsDuring(async () => {
      for (let count = 0; count < 100; count++) store.publish({ kind: 'revoke', id });
      await clock.advance(100);
    });
    expect(commands.filter((op) => op === 'poll')).toHaveLength(2);
    expect(waited?.held).toBe(true);
    expect(waited?.signal.aborted).toBe(false);
  });

  it('that the store confirms ends the lease at once', async () => {
    const { signal } = waited as Lease;
    expect((await other.forceRelease('k')).ended).toBe(1);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(String(signal.reason)).toMatch(/force/);
  });

  it('that arrives during the check of a forged one is checked again', async () => {
    store.ail('poll', 50);
    store.publish({ kind: 'revoke', id: waited?.id as string });
    await clock.advance(10);
    void other.forceRelease('k');
    await clock.advance(100);
    expect(waited?.held).toBe(false);
  });

  it('is checked again if the store did not answer', async () => {
    store.ail('poll', 'failed');
    void other.forceRelease('k');
    await clock.advance(100);
    expect(waited?.held).toBe(true);
    store.heal();
    await clock.advance(CLAIM / 4);
    expect(waited?.held).toBe(false);
  });
});

describe('a forged message for a gate', () => {
  it('neither opens nor breaks it', async () => {
    let passed = false;
    const settle = (): void => {
      passed = true;
    };
    void other.barrier('b', { parties: 2, ttl: TTL }).await().then(settle, settle);
    await clock.advance(100);
    const [{ generation, token }] = store.seen('arrive') as unknown as [
      { generation: number; token: string },
    ];
    expect(token).toMatch(/^[\w-]{16}$/);
    const base = { kind: 'gate', key: 'b', generation, current: generation + 1 } as const;
    store.publish({ ...base, fate: 'open', reason: '', token: '' });
    store.publish({ ...base, fate: 'broken', reason: 'reset', token: 'x'.repeat(16) });
    await clock.advance(0);
    expect(passed).toBe(false);
    store.publish({ ...base, fate: 'open', reason: '', token });
    await clock.advance(0);
    expect(passed).toBe(true);
  });
});
