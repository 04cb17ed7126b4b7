/**
 * Records which methods and options of the public classes a simulation uses: `Lease.extend`, and
 * `Mutex.acquire(wait)` for an option. A test compares them with the report of the public API.
 *
 * The classes are found by what the methods return and give to callbacks. The library calls some of
 * these methods itself; such a call counts as drawn.
 */
const PUBLIC: ReadonlySet<string> = new Set([
  ...['AllOf', 'Barrier', 'Condition', 'Election', 'Holdfast', 'Latch', 'Leadership', 'Lease'],
  ...['MultiLease', 'Mutex', 'OwnerLocks', 'PlainMutex', 'RwLease', 'RwLock', 'RwSide'],
  ...['Schedule', 'ScheduledRun', 'Semaphore', 'SemaphoreLease', 'SingleFlight'],
]);

type Method = (this: unknown, ...args: unknown[]) => unknown;

export class Calls {
  readonly #names: Set<string> = new Set();
  readonly #known = new Set<object>();

  /** @param first the class of an instance */
  constructor(first: { readonly prototype: object }) {
    this.#watch(first.prototype);
  }

  get names(): string[] {
    return [...this.#names].sort();
  }

  /** Watches the class of an object, and those that it extends, if it is public. */
  #see(value: object): void {
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === null || !PUBLIC.has(prototype.constructor.name)) return;
    this.#watch(prototype);
    // the sides of a read-write lock
    if (prototype.constructor.name === 'RwLock')
      Object.values(value).forEach((one) => this.#seen(one));
  }

  #watch(prototype: object): void {
    if (prototype === Object.prototype || this.#known.has(prototype)) return;
    this.#known.add(prototype);
    for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name === 'constructor') continue;
      if (typeof found.value === 'function') {
        this.#replace(prototype, name, found.value as Method);
      } else if (found.get !== undefined) {
        this.#replaceGetter(prototype, name, (of) => found.get?.call(of));
      }
    }
    this.#watch(Object.getPrototypeOf(prototype) as object);
  }

  #replace(prototype: object, name: string, method: Method): void {
    const called = (receiver: unknown, args: readonly unknown[]): unknown => {
      const full = this.#called(receiver, name);
      const given = args.map((one) => this.#argument(full, one));
      return this.#seen(method.apply(receiver, given));
    };
    const value: Method = function (...args) {
      return called(this, args);
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }

  #replaceGetter(prototype: object, name: string, read: (of: unknown) => unknown): void {
    const called = (receiver: unknown): unknown => {
      this.#called(receiver, name);
      return this.#seen(read(receiver));
    };
    const get = function (this: unknown): unknown {
      return called(this);
    };
    Object.defineProperty(prototype, name, { get, configurable: true });
  }

  #called(receiver: unknown, name: string): string {
    const full = `${(receiver as object).constructor.name}.${name}`;
    this.#names.add(full);
    return full;
  }

  /** Options by their names; a callback, so that what it is given is seen. */
  #argument(full: string, argument: unknown): unknown {
    if (typeof argument === 'function') {
      return (...args: unknown[]): unknown => {
        for (const one of args) this.#seen(one);
        return (argument as Method)(...args);
      };
    }
    const isOptions = typeof argument === 'object' && argument?.constructor === Object;
    for (const option of isOptions ? Object.keys(argument) : []) {
      this.#names.add(`${full}(${option})`);
    }
    return argument;
  }

  #seen(value: unknown): unknown {
    if (value instanceof Promise) {
      value.then(
        (one) => this.#seen(one),
        () => undefined,
      );
    } else if (typeof value === 'object' && value !== null) {
      this.#see(value);
    }
    return value;
  }
}
