/** A call that never settles would block its key. A late answer is dropped. */
import type { Clock } from '../../base/clock.js';
import { Deadlines, type Timed } from '../deadlines.js';
import type { Register } from './register.js';
import { RegisterError } from './register-error.js';

class Call<T> implements Timed {
  readonly deadline: number;
  over = false;
  readonly #what: string;
  readonly #limit: Limit;
  readonly #resolve: (answer: T) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    ...[what, limit, resolve, reject]: [
      ...[what: string, limit: Limit],
      ...[resolve: (answer: T) => void, reject: (error: unknown) => void],
    ]
  ) {
    this.deadline = limit.clock.now() + limit.timeout;
    this.#what = what;
    this.#limit = limit;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  readonly answered = (answer: T): void => {
    this.#resolve(answer);
    this.#end();
  };

  readonly failed = (error: unknown): void => {
    this.#reject(error);
    this.#end();
  };

  expire(): void {
    this.over = true;
    const message = `the register did not answer ${this.#what} within ${this.#limit.timeout} ms`;
    this.#reject(new RegisterError('unanswered', message));
  }

  #end(): void {
    this.over = true;
    this.#limit.deadlines.tidy();
  }
}

class Limit {
  readonly clock: Clock;
  readonly timeout: number;
  readonly deadlines: Deadlines;

  constructor(clock: Clock, timeout: number) {
    this.clock = clock;
    this.timeout = timeout;
    this.deadlines = new Deadlines(clock);
  }

  readonly within = <T>(what: string, answer: Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const call = new Call<T>(what, this, resolve, reject);
      this.deadlines.add(call);
      answer.then(call.answered, call.failed);
    });
}

export function limited(register: Register, clock: Clock, timeout: number): Register {
  const limit = new Limit(clock, timeout);
  const { within } = limit;
  return {
    label: register.label,
    read: (key) => within('read', register.read(key)),
    swap: (key, version, change) => within('swap', register.swap(key, version, change)),
    scan: (...args) => register.scan(...args),
    ...(register.readMany && {
      readMany: (keys) => within('readMany', answers(register.readMany?.(keys))),
    }),
    ...(register.swapMany && {
      swapMany: (swaps) => within('swapMany', answers(register.swapMany?.(swaps))),
    }),
    ...(register.overtake && {
      overtake: (key) => within('overtake', register.overtake?.(key) ?? register.read(key)),
    }),
    ...(register.examine && {
      examine: () => within('examine', answers(register.examine?.())),
    }),
    ...(register.alive && {
      alive: (channels) => within('alive', answers(register.alive?.(channels))),
    }),
  };
}

function answers<T>(answering: Promise<readonly T[]> | undefined): Promise<readonly T[]> {
  return answering ?? Promise.resolve([]);
}
