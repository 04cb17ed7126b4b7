/**
 * The decorator `locked`. A standard decorator receives the method and a context object; a legacy
 * one (`experimentalDecorators`) the prototype, the name and the descriptor.
 */
import { badOption, HoldfastError } from '../base/errors.js';
import { checkKey, known } from '../base/checks.js';
import { over } from '../base/given.js';
import type { Holdfast } from '../instance/holdfast.js';
import type { Lease } from '../lease/lease.js';
import type { AcquireOptions } from '../base/options.js';
import { checkAwait } from './gate-options.js';
import { keyTemplate } from './key-template.js';
import { MUTEX, type MutexOptions } from './plain-mutex.js';
import { innermost, under } from './lock-context.js';
import { quote } from '../base/text.js';

export interface LockedOptions extends MutexOptions, AcquireOptions {}

export type AsyncMethod = (this: never, ...args: never[]) => Promise<unknown>;

/** See the `key` of {@link locked}. */
export type LockedKey = string | ((...args: never[]) => string);

/** The key function must accept the method's arguments. */
export type KeyMatchesMethod<M extends AsyncMethod, K extends LockedKey> = K extends string
  ? unknown
  : K extends (...args: Parameters<M>) => string
    ? unknown
    : { readonly 'the key cannot be made of the arguments of this method': never };

/** A standard or legacy decorator of a method of `Self`, or of any class (`never`). */
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
 * Makes a method run under the lock of a key: each call is a `Mutex.run` with the method as its
 * work, and rejects as that does. The method keeps its `this`, arguments, name and result.
 *
 * Only for methods that return a promise, static ones too: others do not compile, and decorating a
 * generator throws `HOLDFAST_BAD_OPTION`. Works with standard decorators and with
 * `experimentalDecorators`.
 *
 * @param holdfast an instance, or a function that returns it: `(self: Orders) => self.holdfast`
 * @param key a template, in which `{0}` is the first argument and `{0.id}` a property of it; or a
 *   function of the method's arguments
 * @param options with `reentrant: true` a locked method may call another one of the same key
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
      throw badOption('locked', 'used on a method', context.kind);
    }
    if (descriptor === undefined) throw badOption('locked', 'used on a method', String(context));
    return { ...descriptor, value: plan.wrap(descriptor.value) };
  };
  return decorator as LockedDecorator<Self, K>;
}

/**
 * The lease of the innermost locked method or reentrant run around the running code, with `key` of
 * that key; or `undefined`. It may be over if the method that started this code has ended: check
 * `held`.
 * @param holdfast considers only locks of this instance; one key in two stores means two locks
 */
export function currentLease(key?: string, holdfast?: Holdfast): Lease | undefined {
  if (key !== undefined) checkKey(key);
  const core = holdfast && checkHoldfast(holdfast).mutex('any').acquirer.core;
  return innermost({ core, key });
}

/**
 * As {@link currentLease}, but throws `HOLDFAST_NOT_HELD` if the running code is not in a locked
 * method or a reentrant run of the key, and `HOLDFAST_LOST` if the lease is over.
 */
export function assertLocked(key: string, holdfast?: Holdfast): Lease {
  const lease = currentLease(checkKey(key), holdfast);
  if (lease === undefined) {
    const message = `Holdfast: this code must run under the lock of ${quote(key)}, but does not`;
    throw new HoldfastError('HOLDFAST_NOT_HELD', message, { key });
  }
  lease.assertHeld();
  return lease;
}

const LOCKED: ReadonlySet<string> = new Set([...MUTEX, 'signal']);

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
    known('options', options, LOCKED);
    const { signal, wait, ...lock } = options;
    checkAwait({ signal, wait });
    this.#lock = lock;
    this.#call = over({}, { signal, wait }) as Pick<AcquireOptions, 'signal' | 'wait'>;
    this.#reentrant = lock.reentrant === true || lock.reentrant === 'refuse';
    this.#key = keyOf(key);
    this.#find = typeof holdfast === 'function' ? holdfast : () => holdfast;
    if (typeof holdfast !== 'function') checkHoldfast(holdfast).mutex('any', lock);
  }

  wrap(method: unknown): Method {
    const kind = Object.prototype.toString.call(method);
    if (typeof method !== 'function' || /GeneratorFunction/.test(kind)) {
      throw badOption('locked', 'used on a method that returns a promise', method);
    }
    const run = (self: unknown, args: unknown[]): Promise<unknown> =>
      this.#run(self, args, () => Reflect.apply(method as Method, self, args));
    const wrapped = function (this: unknown, ...args: unknown[]): Promise<unknown> {
      return run(this, args);
    };
    return copyMetadata(wrapped, method as Method);
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

/** A part of `reflect-metadata`, which frameworks install. */
interface Reflection {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

function copyMetadata(wrapped: Method, method: Method): Method {
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
