/** What the conditions of one instance share: waits that give a lease up, and signals. */
import { afterIo } from '../../base/clock.js';
import { HoldfastError } from '../../base/errors.js';
import { growing, retry } from '../../base/retry.js';
import { quote } from '../../base/text.js';
import type { SignalReply } from '../../engine/commands.js';
import type { Hold } from '../../lease/root.js';
import { ACQUIRE, isOn } from '../../observe/telemetry.js';
import { isRefusal } from '../../store/port.js';
import type { CorePart, PartHost } from '../core-part.js';
import * as failures from '../failures.js';
import { Parked } from './parked.js';

const DELAY = growing(5, 200);

export class Conditions implements CorePart {
  readonly #host: PartHost;
  #closed = false;

  constructor(host: PartHost) {
    this.#host = host;
  }

  /** Prepares to give a lease up for a signal. No request is sent before `ask`. */
  park(from: Hold, condition: string): Parked {
    if (this.#closed) throw failures.closed(from.key);
    const { root } = from;
    const { acquisitions, watchdog } = this.#host;
    // the request names the last fence that was used: a duplicate may be executed later
    root.reserved = 0;
    const left = (): void => {
      from.leave('released');
      watchdog.remove(root);
      if (root.mayBeDuplicated) acquisitions.abandoned.follow(from);
    };
    return new Parked(from, condition, left, (request, parked) =>
      acquisitions.regain(request, parked),
    );
  }

  ask({ acquisition, from }: Parked): void {
    const { roots, sender } = this.#host.acquisitions;
    // parking ends the root: entries whose tasks it serves are withdrawn before
    roots.groups.askNow(acquisition.request.key);
    roots.askBefore(from.root);
    sender.ask(acquisition);
  }

  comeBack(parked: Parked): void {
    parked.wantsBack = true;
    this.ask(parked);
  }

  /** Keeps the lease if no request was sent; otherwise gives up if the store is silent. */
  cancel(parked: Parked, error: HoldfastError): void {
    const { acquisition, call, from, ready } = parked;
    const { acquisitions, settings } = this.#host;
    if (!ready) return acquisitions.giveUp(acquisition, error);
    this.comeBack(parked);
    const { clock, requestTimeout } = settings;
    const { sent } = acquisition;
    const late = (): void => {
      const unheard = failures.unreachable(from.key, acquisition.trouble);
      if (acquisition.sent === sent) acquisitions.giveUp(acquisition, unheard);
    };
    const timer = clock.after(requestTimeout, () => afterIo(clock, late));
    call.cleanUp(() => timer.cancel());
  }

  regained({ call, condition }: Parked): Promise<Hold | null> {
    const { request, promise } = call;
    if (!isOn(ACQUIRE)) return promise;
    return this.#host.telemetry.acquire(request, () => promise, condition);
  }

  abandon(parked: Parked): void {
    const { acquisition, from, ready } = parked;
    const { acquisitions, releaser } = this.#host;
    parked.leave();
    acquisitions.giveUp(acquisition, failures.releasedAsleep(from.key));
    if (!ready) releaser.withdraw(from);
  }

  /**
   * Wakes `count` waiters of a condition, or all (0). Resolves to their number.
   *
   * Each signal of a lease is sent after the reply to the one before: the store would ignore a
   * delayed older one (I3, see `Signal.seq`).
   */
  signal(hold: Hold, condition: string, count: number): Promise<number> {
    const { extras } = hold.root;
    const mine = extras.signalling.then(async () => {
      let woken = 0;
      for (;;) {
        // one command wakes or drops a limited number of waiters
        const most = count === 0 ? 0 : count - woken;
        const reply = await this.#signalOnce(hold, condition, most);
        woken += reply.woken;
        if (reply.left === 0 || (count > 0 && woken >= count)) return woken;
      }
    });
    extras.signalling = mine.catch(() => undefined);
    return mine;
  }

  async #signalOnce(hold: Hold, condition: string, count: number): Promise<SignalReply> {
    const { key, id, root } = hold;
    const { settings, requests, watchdog } = this.#host;
    const { clock, retention } = settings;
    root.extras.signals += 1;
    const seq = root.extras.signals;
    const command = { op: 'signal', key, id, condition, count, seq, retention } as const;
    let cause: unknown;
    const reply = await retry<SignalReply>(() => requests.send(command), {
      clock,
      delay: DELAY,
      continues: () => watchdog.verified(hold),
      failed: (error) => {
        if (isRefusal(error)) throw failures.refusedByServer(key, error);
        cause = error;
      },
    });
    if (reply?.status === 'signalled') return reply;
    if (reply !== undefined) watchdog.lose(hold, 'gone');
    if (reply !== undefined || cause === undefined) throw hold.lossError();
    const what = `a signal at a condition of ${quote(key)}`;
    const message = `Holdfast: the store did not reply to ${what} before the lease ended`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
  }

  close(): void {
    this.#closed = true;
  }
}
