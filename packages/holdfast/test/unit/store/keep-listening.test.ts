/** A connection for messages that is opened again when it is lost. */
import { describe, expect, it } from 'vitest';
import { keepListening, type WakeConnection } from '../../../src/register.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Connections that do what the test says, and a log of what happened. */
class Scene {
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  /** For each connection: ends it as a server does. */
  readonly lost: (() => void)[] = [];
  readonly signals: AbortSignal[] = [];
  /** How the next connections open. */
  next: (connection: WakeConnection) => Promise<WakeConnection> = async (one) => one;
  echo: () => Promise<unknown> = async () => undefined;
  readonly kept: Promise<{ close(): Promise<void> }>;

  constructor(next?: Scene['next']) {
    if (next !== undefined) this.next = next;
    const listener = {
      up: () => void this.log.push('up'),
      down: () => void this.log.push('down'),
    };
    this.kept = keepListening(listener, {
      ...{ clock: this.clock, limit: 1000, every: 10_000 },
      open: (lost, signal) => {
        const number = this.lost.push(lost);
        this.signals.push(signal);
        this.log.push(`open ${number}`);
        return this.next({
          echo: () => this.echo(),
          close: (isLost) => void this.log.push(`${isLost ? 'drop' : 'close'} ${number}`),
        });
      },
    });
  }

  /** What happened since the last call. */
  async after(ms: number): Promise<string> {
    await this.clock.advance(ms);
    return this.log.splice(0).join(', ');
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const refused = async (): Promise<WakeConnection> => {
  throw new Error('refused');
};

describe('a connection', () => {
  it('that is lost is opened again at once, and `down` and `up` tell it', async () => {
    const scene = new Scene();
    expect(await scene.after(0)).toBe('open 1, up');
    scene.lost[0]?.();
    expect(await scene.after(1)).toBe('down, drop 1, open 2, up');
    expect(scene.signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    // the end of an earlier one means nothing
    scene.lost[0]?.();
    expect(await scene.after(1000)).toBe('');
    await (await scene.kept).close();
    expect(await scene.after(60_000)).toBe('close 2');
    expect(scene.clock.timers()).toBe(0);
  });

  it('that does not open is tried again after growing pauses, up to five seconds', async () => {
    const scene = new Scene();
    await scene.after(0);
    scene.next = refused;
    scene.lost[0]?.();
    expect(await scene.after(1)).toBe('down, drop 1, open 2');
    expect(await scene.after(24)).toBe('');
    expect(await scene.after(52)).toBe('open 3');
    const attempts = async (ms: number): Promise<number> =>
      (await scene.after(ms)).split('open').length - 1;
    expect(await attempts(10_000)).toBeLessThan(10);
    expect(await attempts(60_000)).toBeGreaterThan(6);
    scene.next = async (one) => one;
    expect(await scene.after(7500)).toMatch(/^open \d+, up$/);
    // and the pauses begin anew
    scene.lost.at(-1)?.();
    expect(await scene.after(75)).toMatch(/^down, drop \d+, open \d+, up$/);
  });

  it('that ends again and again soon after it opened is opened after growing pauses', async () => {
    const scene = new Scene();
    scene.next = async (one) => {
      scene.clock.after(1, () => scene.lost.at(-1)?.());
      return one;
    };
    await scene.after(0);
    scene.lost[0]?.();
    const opened = async (ms: number): Promise<number> =>
      (await scene.after(ms)).split('open').length - 1;
    expect(await opened(1000)).toBeLessThan(10);
    expect(await opened(60_000)).toBeLessThan(30);
    // one that lasts is replaced at once
    scene.next = async (one) => one;
    await scene.after(20_000);
    scene.lost.at(-1)?.();
    expect(await scene.after(1)).toMatch(/^down, drop \d+, open \d+, up$/);
  });

  it('that takes too long is given up, and closed if it opens after all', async () => {
    const scene = new Scene();
    await scene.after(0);
    let open: () => void = () => undefined;
    scene.next = (one) => new Promise((resolve) => (open = () => resolve(one)));
    scene.lost[0]?.();
    expect(await scene.after(999)).toBe('down, drop 1, open 2');
    expect(scene.signals[1]?.aborted).toBe(false);
    const late = open;
    scene.next = async (one) => one;
    expect(await scene.after(100)).toBe('open 3, up');
    expect(scene.signals[1]?.aborted).toBe(true);
    late();
    expect(await scene.after(0)).toBe('drop 2');
  });

  it('that ends while it opens does not count as open', async () => {
    const scene = new Scene(never);
    const failed = scene.kept.catch((error: Error) => error.message);
    scene.lost[0]?.();
    expect(await failed).toBe('messages: the connection has ended');
    expect(await scene.after(60_000)).toBe('open 1');
  });

  it('whose message to itself does not arrive is replaced', async () => {
    const scene = new Scene();
    let echoes = 0;
    scene.echo = async () => void (echoes += 1);
    await scene.after(35_000);
    expect(echoes).toBe(3);
    scene.echo = never;
    expect(await scene.after(5999)).toBe('');
    expect(await scene.after(2)).toBe('down, drop 1, open 2, up');
    scene.echo = refused;
    expect(await scene.after(10_001)).toBe('down, drop 2, open 3, up');
  });
});

it('the first connection has to open', async () => {
  const scene = new Scene(refused);
  await expect(scene.kept).rejects.toThrow('refused');
  expect(await scene.after(60_000)).toBe('open 1');
  const slow = new Scene(never);
  const failed = slow.kept.catch((error: Error) => error);
  expect(await slow.after(60_000)).toBe('open 1');
  expect(await failed).toMatchObject({
    kind: 'unanswered',
    message: 'messages: no answer within 1000 ms',
  });
});

it('`close` ends the attempts, and waits for no connection that does not open', async () => {
  const scene = new Scene();
  await scene.after(0);
  scene.next = never;
  scene.lost[0]?.();
  await scene.after(1);
  await (await scene.kept).close();
  expect(await scene.after(60_000)).toBe('');
  expect(scene.clock.timers()).toBe(0);
});
