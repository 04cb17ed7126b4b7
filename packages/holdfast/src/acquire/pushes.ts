/**
 * Checks pushes. Any client with the right to publish can send one, so a push counts only with the
 * token that the waiter sent with its request. The store repeats it in the push, and shows it
 * nowhere else.
 *
 * A grant with the right token is still limited to the request, and is checked with the store if it
 * does not fit the waiter's last answer.
 */
import { timingSafeEqual } from 'node:crypto';
import type { RandomSource } from '../base/random-source.js';
import type { Micros, Push } from '../engine/commands.js';
import { handOffsAlone } from '../engine/limits.js';
import { drift, type Moment, type SuspendDetector } from '../lease/local-time.js';
import type { Grant } from '../lease/root.js';
import type { Acquisition } from './acquisition.js';

export type GrantPush = Extract<Push, { kind: 'grant' }>;

export interface PushLimits {
  readonly owner: string;
  /** In ms. */
  readonly claim: number;
  readonly handOffs: number;
}

/**
 * By how much a fence may be ahead of the store's clock, after that stepped back within the
 * retention.
 */
const FENCE_LEAD: Micros = 2 * 86_400_000_000;
/** A grant of which no more than this part remains on the local clock is checked with the store. */
const SHORT = 1 / 8;
const HOLDS_MAX = 1_000_000;

/** Compares in constant time. An empty token matches none. */
export function sameToken(received: string, own: string): boolean {
  const [a, b] = [Buffer.from(received), Buffer.from(own)];
  return own !== '' && a.length === b.length && timingSafeEqual(a, b);
}

/** Unanswered requests of one waiter whose tokens are kept. */
const TOKENS_MAX = 64;

/**
 * Each request of a waiter has its own token. An answer invalidates earlier ones: a push with such
 * a token reports a grant that had ended, and could look fresh if the server's clock was set back
 * meanwhile.
 */
export class PushTokens {
  readonly #tokens: string[] = [];

  draw(randomSource: RandomSource): string {
    const token = randomSource.secret();
    this.#tokens.push(token);
    if (this.#tokens.length > TOKENS_MAX) this.#tokens.shift();
    return token;
  }

  answered(token: string): void {
    const at = this.#tokens.indexOf(token);
    if (at > 0) this.#tokens.splice(0, at);
  }

  include(received: string): boolean {
    return this.#tokens.some((own) => sameToken(received, own));
  }
}

/**
 * A pushed grant is believed for so long after an answered request, in ms. A waiter polls before
 * that, unless it pauses or was frozen. If the store's clock was set forward since, the grant would
 * be trusted for too long.
 */
export const beliefMs = (claimWindow: number): number => 2 * claimWindow;

/** `undefined` if the store has to be asked, also because the lease may have ended. */
export function believed(
  push: GrantPush,
  acquisition: Acquisition,
  suspend: SuspendDetector,
  moment: Moment,
  claimWindow: number,
): Grant | undefined {
  // the store may already know a request whose reply has not arrived
  const { asked } = acquisition;
  const grant = asked && bounded(push, asked);
  const now = moment.at;
  const isOld = now - suspend.toLocal(acquisition.sent, moment) > beliefMs(claimWindow);
  if (grant === undefined || isOld) return undefined;
  const grantedAt = acquisition.localTime(suspend, push.now, moment);
  if (grantedAt > now + claimWindow) return undefined;
  const left = grant.left / 1000;
  const validUntil = Math.min(grantedAt, now) + left - drift(left);
  const { fence, handOffs, holds } = grant;
  const isShort = validUntil - now < left * SHORT;
  return isShort ? undefined : { fence, handOffs, holds, validUntil };
}

/** `undefined` if no store would send it. */
export function bounded(push: GrantPush, asked: PushLimits): GrantPush | undefined {
  const { fence, now, left, handOffs, holds } = push;
  const numbers = [fence, now, left, handOffs, holds];
  if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) return undefined;
  // a lease that an owner joined keeps its fence and may run for longer
  const joined = asked.owner !== '';
  if (fence === 0 || fence > now + FENCE_LEAD || (!joined && fence < now)) return undefined;
  if (handOffs > handOffsAlone(asked.handOffs) || holds < 1 || holds > (joined ? HOLDS_MAX : 1))
    return undefined;
  return { ...push, left: Math.min(left, asked.claim * 1000) };
}
