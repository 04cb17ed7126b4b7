/** A case of a register's contract, and what all cases use. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../base/clock.js';
import type { Change, Register, Swapped, Versioned } from '../register.js';

/**
 * Makes a register on the same data as the others that it made, as in another process, with own
 * connections if possible.
 */
export type MakeRegister = () => Register | Promise<Register>;

/** A rule that a register must keep. */
export interface RegisterCase {
  /** What a register does that keeps it. */
  readonly name: string;
  /**
   * Resolves if the rule is kept, or the register lacks its optional method. Rejects with an error
   * that says what was seen. Uses keys of its own, and closes what it made.
   */
  run(make: MakeRegister): Promise<void>;
}

export function check(condition: boolean, seen: string): asserts condition {
  if (!condition) throw new Error(`the register breaks its contract: ${seen}`);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

export const local = (): number => systemClock.now() * 1000;

/** No register of a test forgets a state then: in the year 2286. */
export const LATE = 1e16;

export function to(state: string, forgetAt: number = LATE): Change {
  return { state, forgetAt, messages: [] };
}

export class Scene {
  readonly #make: MakeRegister;
  readonly #made: Register[] = [];
  readonly #name = `contract:${randomUUID()}:`;
  readonly #channels: { close(): Promise<void> }[] = [];
  #count = 0;

  constructor(make: MakeRegister) {
    this.#make = make;
  }

  /** As in another process. */
  async register(): Promise<Register> {
    const made = await this.#make();
    this.#made.push(made);
    return made;
  }

  key(end = ''): string {
    this.#count += 1;
    return `${this.#name}${this.#count}:${end}`;
  }

  async inbox(register: Register, channel: string): Promise<Inbox> {
    const inbox = new Inbox();
    const listening = await register.listen?.(channel, inbox);
    if (listening !== undefined) {
      inbox.end = () => listening.close();
      this.#channels.push(listening);
    }
    return inbox;
  }

  async close(): Promise<void> {
    for (const channel of this.#channels) await channel.close().catch(() => undefined);
    for (const register of this.#made) await register.close?.();
  }
}

export class Inbox {
  readonly texts: string[] = [];
  readonly events: ('up' | 'down')[] = [];
  end: () => Promise<void> = async () => undefined;

  message(text: string): void {
    this.texts.push(text);
  }

  up(): void {
    this.events.push('up');
  }

  down(): void {
    this.events.push('down');
  }

  async has(text: string): Promise<void> {
    for (let waited = 0; waited < ARRIVES_MS && !this.texts.includes(text); waited += 10) {
      await sleep(10);
    }
    const texts = this.texts.map((one) => one.slice(0, 20));
    check(
      this.texts.includes(text),
      `the message ${short(text)} did not arrive within ${ARRIVES_MS} ms; others: ` +
        JSON.stringify(texts),
    );
  }
}

/** A later message is lost. */
const ARRIVES_MS = 3000;

export function caseOf(name: string, body: (scene: Scene) => Promise<void>): RegisterCase {
  return {
    name,
    run: async (make) => {
      const scene = new Scene(make);
      try {
        await body(scene);
      } finally {
        await scene.close();
      }
    },
  };
}

export async function put(
  register: Register,
  key: string,
  change: Change,
): Promise<Exclude<Swapped, false>> {
  const { version } = await register.read(key);
  const swapped = await register.swap(key, version, change);
  check(swapped !== false, 'a swap with the version that was just read returned false');
  return swapped;
}

export async function expectState(register: Register, key: string, state: string): Promise<void> {
  const read = await register.read(key);
  check(
    read.state === state,
    `the state of ${short(key)} should be ${short(state)}, and it is ${short(read.state)}`,
  );
}

/** The greatest value of the clock when the call began. */
export function latestOf({ time, latest = time }: Pick<Versioned, 'time' | 'latest'>): number {
  return latest;
}

export function short(text: string): string {
  if (text.length <= 60) return JSON.stringify(text);
  return `${JSON.stringify(text.slice(0, 40))}… (${text.length} characters)`;
}
