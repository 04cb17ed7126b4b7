/** The store whose code is loaded with its first command. */
import { describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../../src/engine/commands.js';
import { LazyStore } from '../../../src/store/lazy-store.js';
import { type Store, StoreFailure } from '../../../src/store/port.js';

const inspect = (key: string): Command => ({ op: 'inspect', key, limit: 1 });

/** A store that keeps the keys of its commands, in their order. */
class Recorder implements Store {
  readonly label = 'recorder';
  readonly keysSent: string[] = [];

  execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => {
      const { key } = command as { key: string };
      this.keysSent.push(key);
      return Promise.resolve({ status: key } as never);
    });
  }

  listen(): Promise<never> {
    return Promise.reject(new Error('not used'));
  }

  async *keys(): AsyncIterable<string> {}
}

interface Loading {
  readonly prefix: string;
  loaded(store: Store): void;
  failed(error: Error): void;
}

/** A lazy store, and the loads that it has begun. */
function lazy(acknowledges = false): { store: LazyStore; loads: Loading[] } {
  const loads: Loading[] = [];
  const load = (prefix: string): Promise<Store> =>
    new Promise((resolve, reject) => {
      loads.push({ prefix, loaded: resolve, failed: reject });
    });
  return { store: new LazyStore({ label: 'redis', acknowledges, clients: [], load }, 'p:'), loads };
}

const first = (loads: readonly Loading[]): Loading => loads[0] as Loading;

describe('a lazy store', () => {
  it('loads nothing before its first command, and then once', async () => {
    const { store, loads } = lazy();
    expect([store.trouble(), store.servers(), store.writesLater]).toEqual([
      undefined,
      undefined,
      true,
    ]);
    await store.dispose();
    expect(loads).toHaveLength(0);
    const recorder = new Recorder();
    const answers = [...store.execute([inspect('a'), inspect('b')]), ...store.execute([])];
    expect(loads.map(({ prefix }) => prefix)).toEqual(['p:']);
    first(loads).loaded(recorder);
    expect(await Promise.all(answers)).toEqual([{ status: 'a' }, { status: 'b' }]);
    expect([loads.length, store.writesLater]).toEqual([1, false]);
  });

  it('executes the commands that waited for the code before later ones', async () => {
    const { store, loads } = lazy();
    const recorder = new Recorder();
    const waiting = store.execute([inspect('1')]);
    const more = store.execute([inspect('2')]);
    first(loads).loaded(recorder);
    // a command in each of the next promise jobs: some come while the code is just loaded
    for (let job = 3; job < 12; job++) {
      void Promise.all(store.execute([inspect(`${job}`)]));
      await Promise.resolve();
    }
    await Promise.all([...waiting, ...more]);
    expect(recorder.keysSent).toEqual(Array.from({ length: 11 }, (_, at) => `${at + 1}`));
  });

  it('reports a failed load, and the next command loads again', async () => {
    const { store, loads } = lazy();
    const [lost] = store.execute([inspect('a')]);
    first(loads).failed(new Error('no such file'));
    await expect(lost).rejects.toThrow('the code of the store was not loaded: no such file');
    await expect(lost).rejects.toBeInstanceOf(StoreFailure);
    const [answer] = store.execute([inspect('a')]);
    loads[1]?.loaded(new Recorder());
    expect(await answer).toEqual({ status: 'a' });
  });

  it('gives a space and a store with acknowledgement its own code', async () => {
    const { store, loads } = lazy(true);
    const acknowledging = new Recorder();
    const below = Object.assign(new Recorder(), { acknowledged: () => acknowledging });
    const terms = { replicas: 1, requestTimeout: 100, restartGuard: 0 };
    const answers =
      store
        .space('q:')
        .acknowledged(terms)
        ?.execute([inspect('a')]) ?? [];
    expect(loads.map(({ prefix }) => prefix)).toEqual(['q:']);
    first(loads).loaded(below);
    await Promise.all(answers);
    expect([below.keysSent, acknowledging.keysSent]).toEqual([[], ['a']]);
    expect(lazy(false).store.acknowledged(terms)).toBeUndefined();
  });

  it('has one connection from before it is loaded until that is replaced', async () => {
    const { store, loads } = lazy();
    let [connection, doubted]: [unknown, boolean] = ['first', false];
    const told = Object.assign(new Recorder(), {
      connection: () => (doubted ? undefined : connection),
    });
    const before = store.connection();
    const answers = store.execute([inspect('a')]);
    first(loads).loaded(told);
    await Promise.all(answers);
    expect(before).toBeDefined();
    expect(store.connection()).toBe(before);
    connection = 'second';
    expect(store.connection()).toBe('second');
    doubted = true;
    expect(store.connection()).toBeUndefined();
  });

  const unknown = (): undefined => undefined;
  it.each([
    ['that cannot tell its connection', new Recorder()],
    ['whose connection is not known', Object.assign(new Recorder(), { connection: unknown })],
  ])('control: a store %s has none', async (_, told) => {
    const { store, loads } = lazy();
    const before = store.connection();
    const answers = store.execute([inspect('a')]);
    first(loads).loaded(told);
    await Promise.all(answers);
    expect(store.connection()).not.toBe(before);
    expect(store.connection()).toBeUndefined();
  });
});
