/** Methods that run under a lock: kept properties, refused uses, and the current lease. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  assertLocked,
  currentLease,
  Holdfast,
  locked,
  type LockedOptions,
} from '../../src/index.js';
import type { Lease } from '../../src/lease/lease.js';
import { keyTemplate } from '../../src/primitives/key-template.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { failure, later } from '../suites/helpers.js';
import { compiled } from '../suites/locked.js';

type Anything = (...args: unknown[]) => unknown;

function setUp(): { clock: VirtualClock; holdfast: Holdfast } {
  const clock = new VirtualClock();
  return { clock, holdfast: new Holdfast(new WatchedStore(clock), { clock }) };
}

/** Applies a decorator to a function, as standard or legacy. */
function decorated(how: unknown, method: unknown, kind: 'standard' | 'legacy'): Anything {
  const decorate = how as Anything;
  if (kind === 'standard') return decorate(method, { kind: 'method', name: 'm' }) as Anything;
  const descriptor = { value: method, configurable: true, enumerable: false, writable: true };
  const made = decorate({}, 'm', descriptor) as PropertyDescriptor;
  expect(made).toMatchObject({ configurable: true, enumerable: false, writable: true });
  return made.value as Anything;
}

describe.each(['standard', 'legacy'] as const)('a method with %s decorators', (kind) => {
  it('keeps its name, its length and metadata of other libraries', async () => {
    const { holdfast } = setUp();
    const noted = Symbol('noted');
    const method = Object.assign(
      async function pay(this: unknown, _a: string, _b: number): Promise<unknown> {
        return this;
      },
      { [noted]: 'by a framework' },
    );
    const notes = new Map<object, Map<unknown, unknown>>([[method, new Map([['role', 'x']])]]);
    const reflection = {
      getOwnMetadataKeys: (target: object) => [...(notes.get(target)?.keys() ?? [])],
      getOwnMetadata: (key: unknown, target: object) => notes.get(target)?.get(key),
      defineMetadata: (key: unknown, value: unknown, target: object) =>
        notes.set(target, new Map([[key, value]])),
    };
    Object.assign(Reflect, reflection);
    try {
      const made = decorated(locked(holdfast, 'key'), method, kind);
      expect([made.name, made.length]).toEqual(['pay', 2]);
      expect(Reflect.get(made, noted)).toBe('by a framework');
      expect(notes.get(made)?.get('role')).toBe('x');
      const self = {};
      expect(await Reflect.apply(made, self, ['a', 1])).toBe(self);
    } finally {
      for (const name of Object.keys(reflection)) Reflect.deleteProperty(Reflect, name);
    }
  });

  it('renews its lease while it runs', async () => {
    const { clock, holdfast } = setUp();
    let seen: Lease | undefined;
    const method = async (): Promise<string> => {
      seen = currentLease();
      await new Promise<void>((resolve) => {
        clock.after(60_000, resolve);
      });
      return 'done';
    };
    const running = decorated(locked(holdfast, 'key', { ttl: 1000 }), method, kind)();
    await clock.advance(59_000);
    expect(seen?.held).toBe(true);
    await clock.advance(1000);
    expect(await running).toBe('done');
    expect(await holdfast.inspect('key')).toBeNull();
  });

  it('is refused on a value that is not a method', () => {
    const { holdfast } = setUp();
    const refused = (method: unknown): void => {
      const all = (): Anything => decorated(locked(holdfast, 'key'), method, kind);
      expect(all).toThrow(expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION' }));
    };
    refused(function* () {});
    refused(async function* () {});
    refused(undefined);
  });
});

describe('bad input', () => {
  const { holdfast } = setUp();

  it.each([
    ['an empty key', [holdfast, '']],
    ['a key of another type', [holdfast, 7]],
    ['half a template', [holdfast, 'a:{0']],
    ['a template without a parameter number', [holdfast, '{id}']],
    ['an unknown option', [holdfast, 'key', { timeout: 5 }]],
    ['options that are null', [holdfast, 'key', null]],
    ['a wait that is no number', [holdfast, 'key', { wait: 'x' }]],
    ['a signal that is none', [() => holdfast, 'key', { signal: 5 }]],
    ['no Holdfast', [undefined, 'key']],
  ] as const)('is refused in the class definition: %s', (_, args) => {
    const make = (): unknown => (locked as Anything)(...args);
    expect(make).toThrow(expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION' }));
  });

  it.each(['getter', 'field', 'accessor', 'class'])('is refused on a decorated %s', (kind) => {
    const decorate = locked(holdfast, 'key') as Anything;
    expect(() => decorate(undefined, { kind })).toThrow('on a method');
    expect(() => decorate({}, 'name')).toThrow('on a method');
  });

  it('rejects the call if only the call shows it', async () => {
    const call = (find: unknown, key: unknown, options?: LockedOptions): Promise<unknown> => {
      const how = (locked as Anything)(find, key, options);
      return later(decorated(how, async () => 1, 'standard')() as Promise<unknown>);
    };
    await failure(
      call(() => undefined, 'key'),
      'HOLDFAST_BAD_OPTION',
    );
    await failure(call(holdfast, '{0}'), 'HOLDFAST_BAD_OPTION');
    await failure(
      call(holdfast, () => ''),
      'HOLDFAST_BAD_OPTION',
    );
    const own = (): never => {
      throw new Error('own');
    };
    await expect(call(holdfast, own)).rejects.toThrow('own');
    await expect(call(own, 'key')).rejects.toThrow('own');
  });
});

describe('a template', () => {
  it.each([
    ['order:{0}', ['7'], 'order:7'],
    ['{0}/{1.id}/{1.of.name}', [7n, { id: true, of: { name: 'x' } }], '7/true/x'],
    ['{{{0}}}', ['a'], '{a}'],
    ['plain', [], 'plain'],
    ['{0.length}', ['four'], '4'],
  ])('%s', (template, args, key) => {
    expect(keyTemplate(template)(args)).toBe(key);
  });

  it.each([
    ['{0}', []],
    ['{0}', [{}]],
    ['{0.id}', [null]],
    ['{1}', ['a']],
    ['{0}', [Symbol('s')]],
  ])('%s for a value that is not text: %j', (template, args) => {
    const fill = (): string => keyTemplate(template)(args);
    expect(fill).toThrow(expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'key' }));
  });
});

describe('the current lease of running code', () => {
  const around = async (holdfast: Holdfast, key: string, work: Anything): Promise<unknown> =>
    decorated(locked(holdfast, key), async () => work(), 'standard')();

  it('is the innermost lease, or that of a key', async () => {
    const { holdfast } = setUp();
    expect(currentLease()).toBeUndefined();
    await around(holdfast, 'outer', () =>
      around(holdfast, 'inner', () => {
        expect(currentLease()?.key).toBe('inner');
        expect(currentLease('outer')?.key).toBe('outer');
        expect(currentLease('other')).toBeUndefined();
        expect(assertLocked('outer').held).toBe(true);
      }),
    );
  });

  it.each([
    ['assertLocked', 'no key', () => assertLocked(undefined as never)],
    ['assertLocked', 'null as the key', () => assertLocked(null as never)],
    ['currentLease', 'no Holdfast', () => currentLease('k', {} as never)],
  ])('%s refuses %s', (_, _what, act) => {
    expect(act).toThrow(expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION' }));
  });

  it('is set by a reentrant run, but not by a plain run', async () => {
    const { holdfast } = setUp();
    await holdfast.mutex('key', { reentrant: true }).run((lease) => {
      expect(assertLocked('key')).toBe(lease);
    });
    await holdfast.mutex('key').run(() => {
      expect(currentLease('key')).toBeUndefined();
    });
  });

  it('excludes ended leases, which would accumulate', async () => {
    const { holdfast } = setUp();
    let next: Promise<unknown> | undefined;
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await around(holdfast, 'first', () => {
      next = gate.then(() =>
        around(holdfast, 'second', () => [currentLease('first'), currentLease('second')?.held]),
      );
    });
    goOn();
    expect(await next).toEqual([undefined, true]);
  });
});

describe('a private method', () => {
  let vault: { open(): Promise<boolean> };
  beforeAll(async () => {
    const { Vault } = await compiled('standard', 'standard-only');
    vault = new (Vault as new (holdfast: Holdfast) => typeof vault)(setUp().holdfast);
  });

  it('can be locked', async () => {
    expect(await vault.open()).toBe(true);
  });
});

it("with reentrant: 'refuse' a locked method inside itself is refused", async () => {
  const { holdfast } = setUp();
  const decorate = locked(holdfast, 'k', { reentrant: 'refuse' });
  const inner = decorated(decorate, async () => 1, 'standard');
  const outer = decorated(decorate, async () => inner(), 'standard');
  await failure(outer() as Promise<unknown>, 'HOLDFAST_REFUSED');
  expect(await inner()).toBe(1);
});

it('two lists of values have two keys', () => {
  const of = (template: string, ...args: unknown[]): string => keyTemplate(template)(args);
  expect(of('{0}:{1}', '1:2', '3')).not.toBe(of('{0}:{1}', '1', '2:3'));
  expect(of('{0}:{1}', '1\\', '3')).not.toBe(of('{0}:{1}', '1', '\\3'));
  expect(of('{0}::{1}', 'a:', 'b')).not.toBe(of('{0}::{1}', 'a', ':b'));
  expect(of('{0}:{1}', 'a', 'b')).toBe('a:b');
  // one value needs no mark
  expect(of('order:{0}', 'a:b')).toBe('order:a:b');
  expect(() => keyTemplate('{0}{1}')).toThrow(/text between two arguments/);
  for (const between of ['\\', '\\:', ':\\', ':\\:']) {
    expect(() => keyTemplate(`{0}${between}{1}`)).toThrow(/without a backslash between/);
  }
  expect(of('C:\\{0}', 'a')).toBe('C:\\a');
  expect(of('\\{0}:{1}\\', 'a', 'b')).toBe('\\a:b\\');
});
