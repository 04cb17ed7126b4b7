/** Methods that run under a lock, with both kinds of decorators, on any backend. */
import { until } from 'holdfast-testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, turn } from './helpers.js';

type InsideLock = (lease: Lease | undefined) => Promise<unknown>;

/** The class of `test/decorators/orders.ts`, as the tests see its compiled forms. */
interface Orders {
  pay(id: string, amount: number, inside: InsideLock): Promise<string>;
  ship(order: { id: string }, inside: InsideLock): Promise<unknown>;
  cancel(id: string, inside: InsideLock): Promise<unknown>;
  refund(id: string, inside: InsideLock): Promise<unknown>;
  tooLong(id: string, inside: InsideLock): Promise<unknown>;
}

export interface OrdersClass {
  new (holdfast: Holdfast): Orders;
  shared: Holdfast | undefined;
  close(inside: InsideLock): Promise<string>;
  touch(id: string, holdfast?: Holdfast): number;
}

/** A compiled fixture. `npm run build` creates them. */
export async function compiled(kind: string, file: string): Promise<Record<string, unknown>> {
  const url = new URL(`../../../../.cache/decorators/${kind}/${file}.js`, import.meta.url);
  return (await import(/* @vite-ignore */ url.href)) as Record<string, unknown>;
}

const nothing: InsideLock = () => Promise.resolve();

export function lockedSuite(backend: Backend): void {
  describe.each(['standard', 'legacy'])('with %s decorators', (kind) => {
    let Class: OrdersClass;
    beforeAll(async () => {
      Class = (await compiled(kind, 'orders'))['Orders'] as OrdersClass;
    });
    methods(backend, () => Class);
    entering(backend, () => Class);
  });
}

function methods(backend: Backend, orders: () => OrdersClass): void {
  it('holds the lock while the method runs, and not after it', async () => {
    const holdfast = await backend.make();
    const id = freshKey();
    const result = await new (orders())(holdfast).pay(id, 7, async (lease) => {
      const info = await holdfast.inspect(`order:${id}`);
      expect(info?.holders[0]?.id).toBe(lease?.id);
      expect(lease?.held).toBe(true);
    });
    expect(result).toBe(`paid ${id} 7`);
    expect(await holdfast.inspect(`order:${id}`)).toBeNull();
  });

  it('releases when the method throws, and rejects with the thrown error', async () => {
    const holdfast = await backend.make();
    const id = freshKey();
    const own = new Error('own');
    const paying = new (orders())(holdfast).pay(id, 7, () => Promise.reject(own));
    expect(await paying.catch((error: unknown) => error)).toBe(own);
    expect(await holdfast.inspect(`order:${id}`)).toBeNull();
  });

  it('runs one call at a time, of any instance and any method with the key', async () => {
    const made = await Promise.all(Array.from({ length: 3 }, () => backend.make()));
    const id = freshKey();
    let [inside, most] = [0, 0];
    const visit = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await turn();
      inside -= 1;
    };
    const all = made.flatMap((holdfast) => {
      const one = new (orders())(holdfast);
      return [one.pay(id, 1, visit), one.pay(id, 2, visit), one.cancel(id, visit)];
    });
    await Promise.all(all);
    expect(most).toBe(1);
  });

  it('waits no longer than its options allow, and works on static methods', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const id = freshKey();
    const lease = await other.mutex(`order:${id}`).acquire();
    let ran = false;
    const shipping = new (orders())(one).ship({ id }, () => {
      ran = true;
      return nothing(undefined);
    });
    const error = await failure(later(shipping), 'HOLDFAST_TIMEOUT');
    expect([error.key, ran]).toEqual([`order:${id}`, false]);
    await lease.release();
    orders().shared = one;
    const seen = async (held: Lease | undefined): Promise<void> => expect(held?.held).toBe(true);
    expect(await orders().close(seen)).toBe('Orders');
  });

  it('rejects with HOLDFAST_LOST if the lease was lost during the call', async () => {
    const holdfast = await backend.make();
    const id = freshKey();
    const running = new (orders())(holdfast).tooLong(id, (lease) =>
      aborted((lease as Lease).signal),
    );
    await failure(running, 'HOLDFAST_LOST');
  });
}

function entering(backend: Backend, orders: () => OrdersClass): void {
  it('lets one locked method call another with the same key, if both are reentrant', async () => {
    const holdfast = await backend.make();
    const id = freshKey();
    const one = new (orders())(holdfast);
    const holds = await one.cancel(id, async (lease) => {
      expect(lease?.held).toBe(true);
      return (await holdfast.inspect(`order:${id}`))?.holders[0]?.holds;
    });
    expect(holds).toBe(1);
    const shipping = one.cancel(id, () => one.ship({ id }, nothing));
    await failure(later(shipping), 'HOLDFAST_TIMEOUT');
    expect(await holdfast.inspect(`order:${id}`)).toBeNull();
  });

  it('tells called functions whether they run under the lock', async () => {
    const [holdfast, other] = [await backend.make(), await backend.make()];
    const id = freshKey();
    const touch = (of?: Holdfast): number => orders().touch(id, of);
    expect(() => touch()).toThrow(expect.objectContaining({ code: 'HOLDFAST_NOT_HELD' }));
    await new (orders())(holdfast).pay(id, 1, async (lease) => {
      await turn();
      expect([touch(), touch(holdfast)]).toEqual([lease?.fence, lease?.fence]);
      expect(() => touch(other)).toThrow(expect.objectContaining({ code: 'HOLDFAST_NOT_HELD' }));
      expect(() => orders().touch(`${id} 2`)).toThrow('must run under the lock');
    });
    expect(() => touch()).toThrow(expect.objectContaining({ code: 'HOLDFAST_NOT_HELD' }));
  });

  it('tells work that continues after the method that it no longer holds the lock', async () => {
    const holdfast = await backend.make();
    const id = freshKey();
    let detached: unknown;
    let resume = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      resume = resolve;
    });
    await new (orders())(holdfast).pay(id, 1, async () => {
      void gate
        .then(() => orders().touch(id))
        .catch((error: unknown) => {
          detached = error;
        });
    });
    resume();
    await until(() => detached !== undefined);
    expect(detached).toMatchObject({ code: 'HOLDFAST_LOST' });
  });
}
