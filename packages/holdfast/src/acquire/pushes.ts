/**
 * What a process believes of a push. Anyone who may publish to its wake channel can send one, so a
 * push counts only with the token that its waiter sent with its request: the store keeps the token
 * with the waiter and repeats it in the push, and shows it nowhere else. See `SECURITY.md`.
 *
 * A grant with the right token is still bounded by what was asked for, and is checked with the
 * store if it does not fit the waiter's last answer.
 */
import { timingSafeEqual } from 'node:crypto';
import type { RandomSource } from '../random-source.js';
import type { Micros, Push } from '../engine/commands.js';
import { drift, type Grant } from '../lease/lease-record.js';
import type { SuspendDetector } from '../lease/suspend-detector.js';
import type { Acquisition } from './acquisition.js';

/** A grant, as it is pushed. */
export type GrantPush = Extract<Push, { kind: 'grant' }>;

/** What bounds a pushed grant: what the waiter's last request asked for. */
export interface MultiAcquireLimits {
  readonly owner: string;
  /** Ms. */
  readonly claim: number;
  readonly handOffs: number;
}

/** A fence leads the store's clock by no more than the clock stepped back within a retention. */
const FENCE_LEAD: Micros = 2 * 86_400_000_000;
/** More holds than an owner has. */
const HOLDS_MAX = 1_000_000;

/** Compares in a time that does not depend on where two tokens differ. No token fits none. */
export function sameToken(told: string, own: string): boolean {
  const [a, b] = [Buffer.from(told), Buffer.from(own)];
  return own !== '' && a.length === b.length && timingSafeEqual(a, b);
}

/** Unanswered requests of one waiter whose tokens are kept. */
const TOKENS_MAX = 64;

/**
 * The tokens of one waiter: each request has one of its own. An answer ends those of the requests
 * before: a push with such a token tells of a grant that had ended when the answer was given, and a
 * server whose clock was set back meanwhile would make it look fresh.
 */
export class PushTokens {
  readonly #tokens: string[] = [];

  /** A token for the next request. */
  draw(randomSource: RandomSource): string {
    const token = randomSource.secret();
    this.#tokens.push(token);
    if (this.#tokens.length > TOKENS_MAX) this.#tokens.shift();
    return token;
  }

  /** The request with this token was answered. */
  answered(token: string): void {
    const at = this.#tokens.indexOf(token);
    if (at > 0) this.#tokens.splice(0, at);
  }

  /** True for the token of a request that a push may still answer. */
  include(told: string): boolean {
    return this.#tokens.some((own) => sameToken(told, own));
  }
}

/**
 * The grant that a push with the right token stands for; `undefined` if the store has to be asked:
 * the lease may have ended, or the push does not fit the waiter's last answer.
 */
export function believed(
  push: GrantPush,
  acquisition: Acquisition,
  suspend: SuspendDetector,
  now: number,
  claimWindow: number,
): Grant | undefined {
  const grant = bounded(push, acquisition.bounds);
  if (grant === undefined || acquisition.isStale(suspend, now, claimWindow)) return undefined;
  const grantedAt = acquisition.localTime(suspend, push.now);
  if (grantedAt > now + claimWindow) return undefined;
  const left = grant.left / 1000;
  const validUntil = Math.min(grantedAt, now) + left - drift(left);
  const { fence, handOffs, holds } = grant;
  return validUntil > now ? { fence, handOffs, holds, validUntil, since: now } : undefined;
}

/** A pushed grant, cut to what was asked for; `undefined` if it says what no store would say. */
export function bounded(push: GrantPush, asked: MultiAcquireLimits): GrantPush | undefined {
  const { fence, now, left, handOffs, holds } = push;
  const numbers = [fence, now, left, handOffs, holds];
  if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) return undefined;
  // an owner's lease that is joined keeps its fence and may run for longer
  const joined = asked.owner !== '';
  if (fence === 0 || fence > now + FENCE_LEAD || (!joined && fence < now)) return undefined;
  if (handOffs > asked.handOffs || holds < 1 || holds > (joined ? HOLDS_MAX : 1)) return undefined;
  return { ...push, left: Math.min(left, asked.claim * 1000) };
}
