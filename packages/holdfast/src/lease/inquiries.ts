/**
 * The requests of the watchdog: to extend leases, and to read how long they last.
 *
 * The time in an answer is counted from before its request was sent (I7). After a suspend in
 * between, the answer has no meaning, and the request is repeated.
 */
import type {
  HolderView,
  Micros,
  PollReply,
  RenewManyReply,
  RenewReply,
} from '../engine/commands.js';
import { StoreFailure, UNANSWERED } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { drift, type Moment, type SuspendDetector, withDrift } from './local-time.js';
import type { Root } from './root.js';
import type { RenewMessage } from '../observe/messages.js';
import { RENEW, type Telemetry, traced } from '../observe/telemetry.js';
import type { LossReason } from './loss.js';
import { markerKey } from '../base/marker-key.js';

/** The shortest wait for an answer, and pause between two requests for a lease. */
export const RETRY_MS_MIN = 5;

/** The part of the ttl for which a renewal waits: retries follow before the end. */
export const RENEWAL_WAITS: number = 1 / 6;
const CALL_WAITS = 1 / 3;
const FORCED_MS = 200;
const LATE_MS_MIN = 50;

export class Inquiries {
  readonly #requests: Requests;
  readonly #suspend: SuspendDetector;
  readonly #forced = new WeakMap<object, Promise<LossReason | undefined>>();
  readonly #retention: number;
  readonly #telemetry: Telemetry;
  readonly #confirmed: (root: Root) => void;

  constructor(
    requests: Requests,
    suspend: SuspendDetector,
    telemetry: Telemetry,
    confirmed: (root: Root) => void,
  ) {
    this.#requests = requests;
    this.#suspend = suspend;
    this.#retention = telemetry.settings.retention;
    this.#telemetry = telemetry;
    this.#confirmed = confirmed;
  }

  /**
   * Extends a lease to at least `ms` from now. Rejects without an answer.
   * @param wait the part of the ttl to wait for an answer
   */
  renew(
    root: Root,
    ms: number,
    wait: number = CALL_WAITS,
    begun: Moment = this.#suspend.moment(),
  ): Promise<RenewReply['status']> {
    const count = (status: RenewReply['status']): number => (status === 'renewed' ? 1 : 0);
    return this.#watched([root], ms, begun, () => this.#renew(root, ms, wait, begun), count);
  }

  /**
   * A renewal counts as unanswered until its answer, also a late one, has extended the lease: that
   * might be taken for over before.
   */
  async #renew(root: Root, ms: number, wait: number, begun: Moment): Promise<RenewReply['status']> {
    const { key, id, renewal } = root;
    const retention = this.#retention;
    for (let sent = begun; ; sent = this.#suspend.moment()) {
      const until = Math.max(root.hold.holdUntil, root.hold.keepUntil);
      const length = Math.ceil(Math.min(ms, withDrift(until - sent.at)));
      const command = { op: 'renew', key, id, ttl: Math.max(1, length), retention } as const;
      const late = (reply: RenewReply): void => {
        renewal.unanswered -= 1;
        if (reply.status === 'renewed' && !root.uncertain) this.#confirm(root, sent, reply.left);
      };
      const limit = patience(root, sent, wait);
      let answered = true;
      renewal.unanswered += 1;
      try {
        const reply = await this.#requests.send(command, late, limit, sent.at);
        const { status } = reply;
        const isOpen = root.doubted && root.uncertain;
        if (status === 'absent' || isOpen || this.#confirm(root, sent, reply.left)) {
          return status;
        }
      } catch (error) {
        answered = error instanceof StoreFailure && error.answered;
        throw error;
      } finally {
        if (answered) renewal.unanswered -= 1;
      }
    }
  }

  /**
   * One command for several leases. Resolves to `undefined` after a suspend since the request.
   * Rejects without a reply.
   */
  renewMany(roots: readonly Root[], ttl: number): Promise<RenewManyReply | undefined> {
    const count = (reply?: RenewManyReply): number => {
      let renewed = 0;
      for (const left of reply?.left ?? []) if (left > 0) renewed += 1;
      return renewed;
    };
    const begun = this.#suspend.moment();
    return this.#watched(roots, ttl, begun, () => this.#renewMany(roots, ttl, begun), count);
  }

  verifyMany(roots: readonly Root[]): Promise<RenewManyReply | undefined> {
    return this.#renewMany(roots, 0, this.#suspend.moment());
  }

  async #renewMany(
    roots: readonly Root[],
    ttl: number,
    sent: Moment,
  ): Promise<RenewManyReply | undefined> {
    const reply = await this.#sendMany(roots, ttl, sent);
    const { left } = reply;
    const now = this.#suspend.moment();
    const sentAt = this.#suspend.toLocal(sent, now);
    const suspended = sentAt === Number.NEGATIVE_INFINITY;
    for (let index = 0; index < roots.length; index++) {
      const root = roots[index] as Root;
      const micros = left[index] as number;
      const ms = micros / 1000;
      if (ms > 0 && !suspended && !(root.doubted && root.uncertain)) {
        root.confirm(sentAt + ms - drift(ms), now.at);
        this.#confirmed(root);
      }
      if (micros !== UNANSWERED) root.renewal.unanswered -= 1;
    }
    return suspended ? undefined : reply;
  }

  async #watched<T>(
    roots: readonly Root[],
    ttl: number,
    { at: now }: Moment,
    renew: () => Promise<T>,
    count: (reply: T) => number,
  ): Promise<T> {
    const telemetry = this.#telemetry;
    let delay = 0;
    for (const root of roots) {
      const { hold, renewal } = root;
      delay = Math.max(delay, now - renewal.at);
      if (now - hold.grantedAt >= hold.terms.longHold) telemetry.warn('held', hold);
    }
    const keys = (): string[] => roots.map(({ key }) => key);
    if (delay >= LATE_MS_MIN) telemetry.warn('renews', keys(), ttl, delay);
    let renewed = 0;
    const counted = (to: RenewMessage, reply: T): void => {
      to.renewed = count(reply);
    };
    try {
      const isTraced = RENEW.hasSubscribers !== false;
      const message = isTraced && { instance: telemetry.instance, keys: keys(), ttl, delay };
      const reply = await (message ? traced(RENEW, message, renew, counted) : renew());
      renewed = count(reply);
      return reply;
    } finally {
      telemetry.renewals += renewed;
      telemetry.failedRenewals += roots.length - renewed;
    }
  }

  /**
   * Why a lease was ended by force, see `force-release.ts`; `undefined` if unknown. Removing the
   * marker tells that the holder does not believe in the lease any more.
   */
  async forced(root: Pick<Root, 'key' | 'id'>): Promise<LossReason | undefined> {
    // a push and a release may ask at once, and the first answer removes the marker
    const asked = this.#forced.get(root) ?? this.#askForced(root);
    this.#forced.set(root, asked);
    const reason = await asked;
    if (reason === undefined) this.#forced.delete(root);
    return reason;
  }

  async #askForced(root: Pick<Root, 'key' | 'id'>): Promise<LossReason | undefined> {
    const key = markerKey(root.key, 'forced', root.id);
    const retention = this.#retention;
    try {
      const command = { op: 'inspect', key, limit: 1 } as const;
      const [marker] = (await this.#requests.send(command, undefined, FORCED_MS)).holders;
      const { id, meta } = marker as HolderView;
      this.#requests.send({ op: 'release', key, id, retention }).catch(() => undefined);
      const { label, host, pid } = JSON.parse(meta);
      return `it was ended by force by process ${pid} on ${host}${label ? `: ${label}` : ''}`;
    } catch {
      return undefined;
    }
  }

  /**
   * `absent` too if a copy of the request for the lease was granted after its end. With `replicas`,
   * the time is that of a renewal by 1 ms: it always writes, so it is acknowledged.
   */
  async standing(root: Root): Promise<'granted' | 'absent'> {
    const { key, id } = root;
    const isCopy = (fence: number): boolean => root.uncertain && fence !== root.fence;
    const retention = this.#retention;
    const command = { op: 'poll', key, ids: [id], patience: 0, retention } as const;
    for (;;) {
      const sent = this.#suspend.moment();
      const limit = patience(root, sent, CALL_WAITS);
      let known: RenewReply | undefined;
      if (this.#telemetry.settings.replicas > 0) {
        const renewal = { op: 'renew', key, id, ttl: 1, retention } as const;
        known = await this.#requests.send(renewal, undefined, limit);
        if (known.status === 'absent') return 'absent';
      }
      const late = ({ standings: [one] }: PollReply): void => {
        if (one?.status !== 'granted' || isCopy(one.fence)) return;
        this.#confirm(root, sent, known?.left ?? one.left);
      };
      const reply = await this.#requests.send(command, late, limit);
      const [standing] = reply.standings;
      if (standing?.status !== 'granted') return 'absent';
      if (isCopy(standing.fence)) {
        this.#requests.send({ op: 'release', key, id, retention }).catch(() => undefined);
        return 'absent';
      }
      if (this.#confirm(root, sent, known?.left ?? standing.left)) return 'granted';
    }
  }

  async #sendMany(roots: readonly Root[], ttl: number, sent: Moment): Promise<RenewManyReply> {
    const retention = this.#retention;
    const keys = roots.map(({ key }) => key);
    const ids = roots.map(({ id }) => id);
    const command = { op: 'renewMany', keys, ids, ttl, retention } as const;
    let limit = Number.POSITIVE_INFINITY;
    for (const root of roots) {
      root.renewal.unanswered += 1;
      // one that ends soon must not shorten the wait for the others: a late answer counts too
      if (ttl === 0) limit = Math.min(limit, root.ttl * CALL_WAITS);
      else limit = Math.min(limit, root.hold.validUntil - sent.at, ttl * RENEWAL_WAITS);
    }
    const late = (reply: RenewManyReply): void => {
      for (const [index, left] of reply.left.entries()) {
        const root = roots[index] as Root;
        if (left !== UNANSWERED) root.renewal.unanswered -= 1;
        if (left > 0 && !root.uncertain) this.#confirm(root, sent, left);
      }
    };
    try {
      return await this.#requests.send(command, late, Math.max(RETRY_MS_MIN, limit), sent.at);
    } catch (error) {
      if (error instanceof StoreFailure && error.answered) {
        for (const root of roots) root.renewal.unanswered -= 1;
      }
      throw error;
    }
  }

  /** Takes the remaining time from an answer. False after a suspend since the request. */
  #confirm(root: Root, sent: Moment, left: Micros): boolean {
    const now = this.#suspend.moment();
    const sentAt = this.#suspend.toLocal(sent, now);
    if (sentAt === Number.NEGATIVE_INFINITY && root.held) return false;
    root.confirm(sentAt + left / 1000 - drift(left / 1000), now.at);
    this.#confirmed(root);
    return true;
  }
}

/** An answer is useful while the lease lasts, and a retry follows soon. */
function patience(root: Root, sent: Moment, wait: number): number {
  const { hold, ttl } = root;
  return Math.max(RETRY_MS_MIN, Math.min(hold.validUntil - sent.at, ttl * wait));
}
