/**
 * The release of a lease: one question to the roots, and one object that sends the answer.
 *
 *     held --release--> passed: the next task of this process holds at once (no command)
 *         |---joined: the root ends together with the request of the group that gathers
 *         |---turned: ends the root, and queues the next one in the same step
 *         \---freed: the store frees it or grants it to the next waiter
 *
 * `RootEnd` is the end of one root.
 *
 *     made --send--> sent --answered--> over: freed, kept or lost
 *       \              \--no answer--> sent again, until the root has ended there by itself
 *        \--the group that gathers asks--> sent together with its request
 *
 * With a next root, the same command queues it (`turn`): this object is then the request of that
 * root too, and hands its answer, its failure or the lack of both to the acquisition.
 */
import type { Release, Turn, TurnReply } from '../engine/commands.js';
import { Attempts, type ReleaseResult, type ReleaseRetrier } from './cleanup/release-retrier.js';
import { withdrawal } from './cleanup/abandoned.js';
import { HoldfastError } from '../base/errors.js';
import type { Hold, Root } from '../lease/root.js';
import type { Clock } from '../base/clock.js';
import type { Grantor, ReleaseOutcome } from '../lease/lease.js';
import type { Moment, SuspendDetector } from '../lease/local-time.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../base/options.js';
import { quote } from '../base/text.js';
import { StoreFailure } from '../store/port.js';
import { isOn, RELEASE, type Telemetry } from '../observe/telemetry.js';
import type { Acquisition } from './acquisition.js';
import type { Acquisitions } from './acquisitions.js';

export interface ReleaserParts {
  readonly settings: Settings;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly watchdog: Watchdog;
  readonly retrier: ReleaseRetrier;
  readonly acquisitions: Acquisitions;
}

export class Releaser implements Grantor {
  readonly #parts: ReleaserParts;
  readonly clock: Clock;
  readonly watchdog: Watchdog;

  constructor(parts: ReleaserParts) {
    this.#parts = parts;
    this.clock = parts.settings.clock;
    this.watchdog = parts.watchdog;
  }

  release(
    hold: Hold,
    isTraced: boolean = RELEASE.hasSubscribers !== false,
  ): Promise<ReleaseOutcome> {
    if (isTraced) return this.#trace(hold);
    const { root } = hold;
    const { telemetry } = root;
    const { acquisitions, retrier, suspend, watchdog } = this.#parts;
    const now = suspend.moment();
    const believed = watchdog.believes(hold, now);
    if (hold.state !== 'held') return Promise.resolve(this.#over(hold));
    if (now.at - hold.grantedAt >= hold.terms.longHold) telemetry.warn('held', hold);
    telemetry.releases += 1;
    const { withdrawals } = retrier;
    const isReleasing = withdrawals.size > 0 && withdrawals.find(root.id) !== undefined;
    const certainty = isReleasing ? 'releasing' : believed ? 'held' : 'doubted';
    const ending = acquisitions.roots.end(root, certainty, now);
    if (ending.how === 'passed') return Promise.resolve('freed');
    hold.leave('released');
    watchdog.remove(root);
    const end = new RootEnd(this.#parts, hold, believed, now);
    if (ending.how === 'joined') {
      ending.group.end = end;
      return Promise.resolve('freed');
    }
    return end.send(ending.how === 'turned' ? ending.next : undefined);
  }

  #trace(hold: Hold): Promise<ReleaseOutcome> {
    const { key, name: id, fence, grantedAt } = hold;
    const held = this.clock.now() - grantedAt;
    const release = (): Promise<ReleaseOutcome> => this.release(hold, false);
    return hold.root.telemetry.release({ key, id, fence, held }, release);
  }

  #over(hold: Hold): ReleaseOutcome | Promise<ReleaseOutcome> {
    // it belongs to the store or to another process now: nothing is sent
    if (hold.state === 'left') return 'kept';
    const { end } = hold;
    hold.end = undefined;
    if (end !== undefined) return end.again();
    if (hold.state === 'lost') hold.root.telemetry.warn('outlived', hold);
    this.withdraw(hold);
    return 'lost';
  }

  /** The server may keep a lease for a little longer than this process believed in it. */
  withdraw({ root, terms }: Hold): void {
    const { key, id, unpassed, mayBeDuplicated } = root;
    this.#parts.acquisitions.abandoned.withdraw({ key, id, unpassed }, terms.ttl, mayBeDuplicated);
  }

  /** This process neither renews nor releases it: it ends in the store by itself. */
  leave(hold: Hold): void {
    hold.leave('left');
    this.#parts.watchdog.remove(hold.root);
    if (!isOn(RELEASE)) return;
    const { key, name: id, fence, grantedAt } = hold;
    const about = { key, id, fence, held: this.clock.now() - grantedAt };
    void hold.root.telemetry.release(about, () => Promise.resolve('kept'));
  }

  /**
   * Releases an acquisition of which this process knows the id only; another one may have made it.
   * @param ms how long the store may have something to release
   * @param isOwn no task has a lease of it, so none has lost it
   */
  end(key: string, id: string, ms: number, isOwn: boolean): Promise<ReleaseOutcome> {
    const end = (): Promise<ReleaseOutcome> => this.#end(key, id, ms, isOwn);
    return isOn(RELEASE) ? this.#parts.telemetry.release({ key, id }, end) : end();
  }

  async #end(key: string, id: string, ms: number, isOwn: boolean): Promise<ReleaseOutcome> {
    const hold = this.#parts.watchdog.find(id)?.hold;
    if (hold !== undefined) {
      const releasing = this.release(hold);
      // the holder did not release it itself: its signal aborts
      if (hold.state === 'released' && !isOwn) hold.foundLost('unlocked');
      return releasing;
    }
    const { retrier, settings } = this.#parts;
    const { clock, requestTimeout, retention } = settings;
    const until = clock.now() + ms + requestTimeout;
    const command = withdrawal({ key, id }, retention);
    const returned = await retrier.release({ id, command, until });
    if (returned === undefined) return unanswered(key);
    return outcome(returned.status, returned.repeated);
  }
}

const NO_ROOT = {
  ...{ again: '', ttl: 1, claim: 1, handOffs: 0, channel: '', token: '', waited: 0, tasks: 0 },
  ...{ patience: 0, meta: '' },
} as const;

export class RootEnd extends Attempts {
  readonly #parts: ReleaserParts;
  readonly #root: Root;
  readonly #hold: Hold;
  /** The lease was certainly held when its release was asked for. */
  readonly #believed: boolean;
  #next: Acquisition | undefined;
  #sent: Moment;
  #tell: ((outcome: ReleaseOutcome | Promise<ReleaseOutcome>) => void) | undefined;
  #later = false;
  #waited = false;
  /** No attempt follows. */
  #over = false;
  #returned: ReleaseResult | undefined;
  #failure: unknown;

  /** @param now the current moment: the end is sent in this step, or not at all */
  constructor(parts: ReleaserParts, hold: Hold, believed: boolean, now: Moment) {
    const { root } = hold;
    super(parts.retrier, root.id, root.endsBy + parts.settings.requestTimeout);
    this.#parts = parts;
    this.#root = root;
    this.#hold = hold;
    this.#believed = believed;
    this.#sent = now;
  }

  send(next: Acquisition | undefined): Promise<ReleaseOutcome> {
    this.#next = next;
    this.command = this.#command();
    return new Promise((resolve) => {
      this.#tell = resolve;
      this.#parts.retrier.end(this, this.#sent.at);
    });
  }

  /** Without an answer at the end, it is not known whether the store received an attempt. */
  resolve(returned: ReleaseResult | undefined, isOver: boolean): void {
    if (isOver) {
      this.#over = true;
      this.#returned = returned;
      this.#next?.turned((returned?.reply as TurnReply | undefined)?.again, this.#sent);
    }
    const tell = this.#tell;
    if (tell === undefined) return;
    this.#tell = undefined;
    if (returned === undefined && !this.#later) this.#hold.end = this;
    tell(this.#outcome(returned));
  }

  /** The outcome for a further call, after one that had no answer. */
  async again(): Promise<ReleaseOutcome> {
    const returned = this.#over ? this.#returned : await this.#parts.retrier.release(this);
    if (returned === undefined) this.#hold.end = this;
    return this.#outcome(returned);
  }

  /** As for a hand-off, the task that released does not learn how its root ends. */
  sendLater(next: Acquisition | undefined): void {
    this.#later = true;
    this.send(next).catch(() => undefined);
  }

  override sends(waited: boolean): void {
    this.#sent = this.#parts.suspend.moment();
    if (waited) this.#waited = true;
  }

  override missed(error: unknown): void {
    this.#failure = error;
    const { acquisitions } = this.#parts;
    const next = this.#next;
    // this attempt may arrive after the withdrawal of a root that was given up
    if (next?.settled) acquisitions.onLateReply(next, 'queued');
    else if (next !== undefined) acquisitions.onFailure(next, error);
  }

  #command(): Release | Turn {
    const { key, id, fence } = this.#root;
    const { index } = this.#hold;
    const unpassed = index === 0;
    const { acquisitions, settings } = this.#parts;
    const { retention } = settings;
    if (this.#next === undefined && unpassed)
      return { op: 'release', key, id, unpassed, retention };
    const root = { op: 'turn', key, id, fence, used: fence + index, retention } as const;
    if (this.#next === undefined) return { ...root, ...NO_ROOT };
    const { id: again } = this.#next;
    const asked = acquisitions.sender.begin(this.#next, this.#next.sent);
    const { waited = 0, tasks = 0 } = asked;
    return { ...asked, ...root, again, waited, tasks };
  }

  #outcome(returned: ReleaseResult | undefined): ReleaseOutcome | Promise<ReleaseOutcome> {
    const { key, id, mayBeDuplicated } = this.#root;
    const { acquisitions, watchdog, settings } = this.#parts;
    if (mayBeDuplicated) acquisitions.abandoned.follow({ key, id });
    if (returned === undefined) return unanswered(key, this.#failure);
    // it was held when the release was called, and may have ended by itself while that waited
    const lapsed = this.#waited && settings.clock.now() >= this.#root.storeUntil;
    const isFreed = this.#believed && (returned.repeated || lapsed);
    const result = outcome(returned.status, isFreed);
    if (result === 'kept') watchdog.owned.counted(this.#root, returned.holds);
    if (returned.status !== 'absent' && result !== 'lost') return result;
    return this.#missed(result, returned.status);
  }

  async #missed(result: ReleaseOutcome, status: ReleaseResult['status']): Promise<ReleaseOutcome> {
    const { acquisitions, watchdog } = this.#parts;
    if (result === 'lost' && this.#hold.reason === undefined) {
      this.#hold.foundLost((await watchdog.inquiries.forced(this.#root)) ?? 'gone');
    }
    if (status === 'absent') acquisitions.revocations.foundLost(this.#root);
    return result;
  }
}

/** @param isFreed if nothing is found: it was held, and an earlier, unanswered attempt freed it */
function outcome(status: ReleaseResult['status'], isFreed: boolean): ReleaseOutcome {
  if (status === 'freed' || status === 'kept') return status;
  return isFreed ? 'freed' : 'lost';
}

/** Rejects after two promise jobs, when a promise depends on it: so its stack names the caller. */
async function unanswered(key: string, cause?: unknown): Promise<never> {
  await Promise.resolve();
  await Promise.resolve();
  const refuses = cause instanceof StoreFailure && cause.answered;
  const what = refuses ? 'the store refused the release' : 'no answer to the release';
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  const message = `Holdfast: ${what} of ${quote(key)}; it is retried${why}`;
  throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}
