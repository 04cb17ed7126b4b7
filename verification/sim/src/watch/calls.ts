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
      const { value, get } = found;
      if (name === 'constructor') continue;
      if (typeof value === 'function') this.#replace(prototype, name, value as Method);
      else if (get !== undefined) this.#replaceGetter(prototype, name, get);
    }
    this.#watch(Object.getPrototypeOf(prototype) as object);
  }

  #replace(prototype: object, name: string, method: Method): void {
    const calls = this;
    const replaced: Method = function (...args) {
      const full = calls.#called(this, name);
      return calls.#seen(
        method.apply(
          this,
          args.map((one) => calls.#argument(full, one)),
        ),
      );
    };
    Object.defineProperty(prototype, name, { value: replaced, writable: true, configurable: true });
  }

  #replaceGetter(prototype: object, name: string, get: () => unknown): void {
    const calls = this;
    const replaced = function (this: unknown): unknown {
      calls.#called(this, name);
      return calls.#seen(get.call(this));
    };
    Object.defineProperty(prototype, name, { get: replaced, configurable: true });
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
    for (const option of isOptions ? Object.keys(argument as object) : []) {
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
