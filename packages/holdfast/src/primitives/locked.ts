/**
 * Methods that run under the lock of a key: a decorator, for standard decorators and for the older
 * ones of `experimentalDecorators`. A thin face on `Mutex.run`.
 *
 * A standard decorator gets the method and a context object, an older one the prototype, the name
 * and the property's descriptor; which it is, shows when it is applied. The lease of a running
 * method is found by whatever it calls, see `surrounding.ts`.
 */
import { badOption, HoldfastError } from '../errors.js';
import { over } from '../given.js';
import type { Holdfast } from '../holdfast.js';
import type { Lease } from '../lease/lease.js';
import type { AcquireOptions } from '../options.js';
import { keyTemplate } from './key-template.js';
import type { MutexOptions } from './mutex.js';
import { innermost, under } from './lock-context.js';
import { quote } from '../text.js';

/** What a locked method may say: of its lock, and of its waiting. */
export interface LockedOptions extends MutexOptions, AcquireOptions {}

/** A method that can be locked: one that returns a promise. */
export type AsyncMethod = (this: never, ...args: never[]) => Promise<unknown>;

/** Where a key comes from: a template, or a function of the method's arguments. */
export type LockedKey = string | ((...args: never[]) => string);

/** Nothing is asked of a method whose arguments the key can be made of, and too much of others. */
export type KeyMatchesMethod<M extends AsyncMethod, K extends LockedKey> = K extends string
  ? unknown
  : K extends (...args: Parameters<M>) => string
    ? unknown
    : { readonly 'the key cannot be made of the arguments of this method': never };

/**
 * What `locked` makes: decorates a method of `Self`, or of anything (`never`), in either kind of
 * decorators.
 */
export interface LockedDecorator<Self, K extends LockedKey> {
  <M extends AsyncMethod>(
    method: M & KeyMatchesMethod<M, K>,
    context: ClassMethodDecoratorContext<Self>,
  ): M;
  <M extends AsyncMethod>(
    target: [Self] extends [never] ? object : Self,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<M> & KeyMatchesMethod<M, K>,
  ): TypedPropertyDescriptor<M>;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Makes a method run under the lock of a key: it takes the lock, runs, and releases, also when it
 * throws; the lease is renewed for as long as it runs. It rejects with what it throws itself, and
 * as `Mutex.run` does. Its `this`, its arguments, its name and what it resolves to are kept.
 *
 * Only for methods that return a promise: the types refuse others, and generators are refused when
 * they are decorated. Works with standard decorators and with `experimentalDecorators`, on methods
 * and static methods.
 *
 * @param holdfast an instance, or a function that finds it: `(self: Orders) => self.holdfast`
 * @param key a template, in which `{0}` is the first argument and `{0.id}` a property of it; or a
 * function of the method's arguments
 * @param options as everywhere, `wait` and `reentrant` among them. With `reentrant: true` a locked
 * method may call another one of the same key.
 */
export function locked<K extends LockedKey, Self = never>(
  holdfast: Holdfast | ((self: Self) => Holdfast),
  key: K,
  options: LockedOptions = {},
): LockedDecorator<Self, K> {
  const plan = new Plan(holdfast as Holdfast | ((self: unknown) => Holdfast), key, options);
  const decorator = (
    target: unknown,
    context: { readonly kind: string } | string | symbol,
    descriptor?: PropertyDescriptor,
  ): unknown => {
    if (typeof context === 'object') {
      if (context.kind === 'method') return plan.wrap(target);
      throw badOption('locked', 'on a method', context.kind);
    }
    if (descriptor === undefined) throw badOption('locked', 'on a method', String(context));
    return { ...descriptor, value: plan.wrap(descriptor.value) };
  };
  return decorator as LockedDecorator<Self, K>;
}

/**
 * The lease that the running code runs under: of the innermost locked method or reentrant run, or
 * of the innermost for a key; `undefined` if there is none. It may be over, if the code was started
 * by a method that has ended: ask `held`.
 * @param holdfast looks at locks of this instance only; the same key in two stores is two locks
 */
export function currentLease(key?: string, holdfast?: Holdfast): Lease | undefined {
  const core = holdfast?.mutex(key ?? 'any').acquirer.core;
  return innermost({ core, key });
}

/**
 * Throws unless the running code runs under the lock of a key, in a locked method or a reentrant
 * run, and the lock is held: `HOLDFAST_NOT_HELD`, or `HOLDFAST_LOST` if its lease is over. Returns
 * the lease.
 * @param holdfast looks at locks of this instance only
 */
export function assertLocked(key: string, holdfast?: Holdfast): Lease {
  const lease = currentLease(key, holdfast);
  if (lease === undefined) {
    const message = `Holdfast: this code must run under the lock of ${quote(key)}, and does not`;
    throw new HoldfastError('HOLDFAST_NOT_HELD', message, { key });
  }
  lease.assertHeld();
  return lease;
}

/** What one use of `locked` says. */
class Plan {
  readonly #find: (self: unknown) => Holdfast;
  readonly #key: (self: unknown, args: unknown[]) => string;
  readonly #lock: MutexOptions;
  readonly #call: Pick<AcquireOptions, 'signal' | 'wait'>;
  readonly #reentrant: boolean;

  constructor(
    holdfast: Holdfast | ((self: unknown) => Holdfast),
    key: LockedKey,
    options: LockedOptions,
  ) {
    if (typeof options !== 'object' || options === null) {
      throw badOption('options', 'an object', options);
    }
    const { signal, wait, ...lock } = options;
    this.#lock = lock;
    this.#call = over({}, { signal, wait }) as Pick<AcquireOptions, 'signal' | 'wait'>;
    this.#reentrant = lock.reentrant === true;
    this.#key = keyOf(key);
    this.#find = typeof holdfast === 'function' ? holdfast : () => holdfast;
    // what is known already is checked where the class is written
    if (typeof holdfast !== 'function') checkHoldfast(holdfast).mutex('any', lock);
  }

  wrap(method: unknown): Method {
    const kind = Object.prototype.toString.call(method);
    if (typeof method !== 'function' || /GeneratorFunction/.test(kind)) {
      throw badOption('locked', 'on a method that returns a promise', method);
    }
    const run = (self: unknown, args: unknown[]): Promise<unknown> =>
      this.#run(self, args, () => Reflect.apply(method as Method, self, args));
    const wrapped = function (this: unknown, ...args: unknown[]): Promise<unknown> {
      return run(this, args);
    };
    return alike(wrapped, method as Method);
  }

  async #run(self: unknown, args: unknown[], work: () => unknown): Promise<unknown> {
    const mutex = checkHoldfast(this.#find(self)).mutex(this.#key(self, args), this.#lock);
    const { core } = mutex.acquirer;
    const inside = (lease: Lease): unknown => under(core, lease, this.#reentrant, work);
    return mutex.run(inside, this.#call);
  }
}

function keyOf(key: unknown): (self: unknown, args: unknown[]) => string {
  if (typeof key === 'function') return (self, args) => Reflect.apply(key, self, args) as string;
  if (typeof key !== 'string' || key === '') {
    throw badOption('key', 'a template, or a function of the arguments', key);
  }
  const fill = keyTemplate(key);
  return (_self, args) => fill(args);
}

function checkHoldfast(holdfast: unknown): Holdfast {
  if (typeof (holdfast as Partial<Holdfast> | null | undefined)?.mutex === 'function') {
    return holdfast as Holdfast;
  }
  throw badOption('holdfast', 'a Holdfast, or a function that returns one', holdfast);
}

/** The part of the metadata reflection that frameworks install. */
interface Reflection {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

/** Keeps the name, the number of arguments, and what other decorators noted on the method. */
function alike(wrapped: Method, method: Method): Method {
  for (const name of Reflect.ownKeys(method)) {
    const property = Object.getOwnPropertyDescriptor(method, name);
    if (name !== 'prototype' && property) Object.defineProperty(wrapped, name, property);
  }
  const reflection = Reflect as Reflection;
  for (const key of reflection.getOwnMetadataKeys?.(method) ?? []) {
    reflection.defineMetadata?.(key, reflection.getOwnMetadata?.(key, method), wrapped);
  }
  return wrapped;
}
