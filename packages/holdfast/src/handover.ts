/**
 * The entry `holdfast/handover`: a lease as text, which another process adopts. Both then have the
 * same lease: each renews it and hears of its loss, and each may release it.
 */
import { known } from './base/checks.js';
import type { Core } from './acquire/core.js';
import { badOption, HoldfastError } from './base/errors.js';
import { closed } from './acquire/failures.js';
import { HoldfastCore } from './instance/holdfast-core.js';
import { Root } from './lease/root.js';
import { Lease } from './lease/lease.js';
import { type LockOptions, resolveTerms } from './base/options.js';
import { Leadership } from './primitives/leadership.js';
import { MultiLease } from './primitives/multi-lease.js';
import { RwLease, type RwMode } from './primitives/rw-lease.js';
import { SemaphoreLease } from './primitives/semaphore-lease.js';
import { StoreFailure } from './store/port.js';
import { quote } from './base/text.js';

export type { CallOptions } from './base/abort.js';
export type { Clock, Timer } from './base/clock.js';
export type { HoldfastErrorCode } from './base/errors.js';
export type { CoreOptions, HoldfastStore } from './instance/holdfast-core.js';
export type { ReleaseOutcome } from './lease/lease.js';
export type { LeaseState } from './lease/lease-state.js';
export type { HoldfastOptions, LockOptions } from './base/options.js';
export type { KeyOutcome } from './primitives/multi-lease.js';
export type { HoldfastCore, HoldfastError, Lease, MultiLease, RwLease, SemaphoreLease };
export type { Leadership, RwMode };

interface Parsed {
  readonly several: boolean;
  readonly leases: readonly Written[];
}

export type AdoptOptions = Pick<
  LockOptions,
  'ttl' | 'renew' | 'label' | 'onExpiring' | 'expiringBefore'
>;

const FORMAT = 1;
/** Changes and signals that the first process may still send. */
const NUMBERS = 1000;
const KINDS = { lease: Lease, rw: RwLease, semaphore: SemaphoreLease, term: Lease } as const;
type Kind = keyof typeof KINDS;

interface Written {
  readonly kind: Kind;
  readonly key: string;
  readonly id: string;
  readonly index: number;
  readonly fence: number;
  readonly weight: number;
  /** Of a read-write lock: what the holder may do. */
  readonly mode?: RwMode;
  readonly ttl: number;
  readonly owner: string;
  /** The rest of `maxHold`, in ms; omitted without a limit. */
  readonly maxHold?: number;
  /** The number of the last change of the weight; `signals` that of the last signal. */
  readonly changes: number;
  readonly signals: number;
}

/**
 * Writes a lease as text, for `adopt` in another process. This process keeps the lease, and hands
 * it on to no other task. The text gives the right to release the lease: treat it like a password.
 * @param holdfast the instance that acquired the lease
 * @param lease of a mutex, a read-write lock, a semaphore or `allOf`, or a term of a leader
 * @throws HOLDFAST_LOST or HOLDFAST_UNCERTAIN if the lease is not held
 */
export function toText(holdfast: HoldfastCore, lease: Lease | MultiLease | Leadership): string {
  const core = coreOf(holdfast);
  const { clock } = core;
  const leases = partsOf(core, lease).map(({ hold }, at): Written => {
    const { key, id, index, fence, holdUntil, root, terms } = hold;
    // the other process cannot know the fence of a task that continues it
    root.reserved = 0;
    const side = lease instanceof RwLease ? lease.side : { weight: root.weight };
    const { extras } = root;
    const { ttl, owner } = terms;
    const { changes, signals } = extras;
    const limited = terms.maxHold !== Number.POSITIVE_INFINITY;
    const maxHold = limited && { maxHold: Math.max(1, holdUntil - clock.now()) };
    const numbers = { changes, signals, ...maxHold };
    return { kind: kindOf(lease, at), key, id, index, fence, ...side, ttl, owner, ...numbers };
  });
  return JSON.stringify({ holdfast: FORMAT, several: lease instanceof MultiLease, leases });
}

/**
 * Writes a lease as text and ends it in this process, without releasing the lock, which lasts for
 * its remaining time, and until a process adopts it. `signal` of a lease does not abort; that of a
 * leader's term does.
 */
export function handOver(holdfast: HoldfastCore, lease: Lease | MultiLease | Leadership): string {
  const text = toText(holdfast, lease);
  const core = coreOf(holdfast);
  for (const { hold } of partsOf(core, lease)) core.releaser.leave(hold);
  if (lease instanceof Leadership) lease.handedOver();
  return text;
}

/**
 * Adopts a lease that another process wrote as text. It is renewed here, unless `renew: false`. Two
 * instances of a process may have the same lease; one instance may not have it twice. A later
 * change of `mode` or permits by the first process is not heard, and its signals at a condition
 * wake no waiter after one of this instance.
 *
 * Rejects with `HOLDFAST_LOST` if the lease has ended, `HOLDFAST_UNREACHABLE` if the store does not
 * answer, `HOLDFAST_CLOSED` if `holdfast` closes meanwhile (the lease stays), and
 * `HOLDFAST_BAD_OPTION` if the text is not of this version, or of a leader's term.
 * @typeParam L is not checked
 */
export async function adopt<L extends Lease | MultiLease = Lease>(
  holdfast: HoldfastCore,
  text: string,
  options: AdoptOptions = {},
): Promise<L> {
  const parsed = parse(text);
  if (isTerm(parsed)) throw badOption('text', 'a lease; adoptLeadership() takes a term', text);
  return adoptAll(coreOf(holdfast), parsed, text, options) as Promise<L>;
}

/**
 * Adopts the term of a leader: this process leads, in the same term, until `resign`, the loss of
 * its lease, or the close of `holdfast`. Rejects as `adopt` does.
 */
export async function adoptLeadership(
  holdfast: HoldfastCore,
  text: string,
  options: Omit<AdoptOptions, 'renew'> = {},
): Promise<Leadership> {
  const parsed = parse(text);
  if (!isTerm(parsed)) throw badOption('text', 'the term of a leader; adopt() takes leases', text);
  const core = coreOf(holdfast);
  const lease = await adoptAll(core, parsed, text, { ...options, renew: true });
  return new Leadership(core, lease as Lease, false, () => undefined);
}

async function adoptAll(
  core: Core,
  { several, leases: all }: Parsed,
  text: string,
  options: AdoptOptions,
): Promise<Lease | MultiLease> {
  known('options', options, ADOPT);
  const isOpen = (): void => {
    if (core.closing) throw closed((all[0] as Written).key);
  };
  isOpen();
  const free = reserve(core, all, text);
  try {
    const roots = await Promise.all(all.map((one) => adopted(core, one, options)));
    // not released: another process may have it
    isOpen();
    const leases = roots.map(({ hold }, at) => {
      const { kind, mode } = all[at] as Written;
      return kind === 'rw' ? new RwLease(hold, core, mode) : new KINDS[kind](hold, core);
    });
    core.acquisitions.lasting.begin();
    const now = core.clock.now();
    // in one step: a close ends them
    const claims = roots.map((root) => core.watchdog.add(root, now));
    for (const claim of claims) await claim;
    return several ? multi(leases) : (leases[0] as Lease);
  } finally {
    free();
  }
}

const ADOPT: ReadonlySet<string> = new Set<keyof AdoptOptions>([
  ...(['ttl', 'renew', 'label', 'onExpiring', 'expiringBefore'] as const),
]);

const adopting = new WeakMap<Core, Set<string>>();

function reserve(core: Core, all: readonly Written[], text: string): () => void {
  const ids = adopting.get(core) ?? new Set();
  adopting.set(core, ids);
  const own = new Set(all.map(({ id }) => id));
  const isTaken = ({ id }: Written): boolean => ids.has(id) || core.watchdog.find(id) !== undefined;
  if (own.size < all.length || all.some(isTaken)) {
    throw badOption('text', 'a lease that this instance does not have', text);
  }
  for (const id of own) ids.add(id);
  return () => {
    for (const id of own) ids.delete(id);
  };
}

async function adopted(core: Core, written: Written, options: AdoptOptions): Promise<Root> {
  const { key, id, weight, fence, index, owner, ttl, maxHold = Number.POSITIVE_INFINITY } = written;
  const given = resolveTerms(core.settings, { ttl }, options, 0);
  const terms = { ...given, owner, maxHold };
  const now = core.clock.now();
  const grant = { fence, handOffs: 0, holds: 1, validUntil: now + terms.ttl };
  const root = new Root(core.telemetry, { key, id, weight, terms, index }, grant, now);
  // a number that the store has seen counts as a late duplicate
  root.extras.changes = written.changes + NUMBERS;
  root.extras.signals = written.signals + NUMBERS;
  // the store says for how long
  root.doubted = true;
  try {
    if ((await core.watchdog.inquiries.standing(root)) === 'granted') return root;
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    const message = `Holdfast: the store did not answer for ${quote(key)}: ${error.message}`;
    throw new HoldfastError('HOLDFAST_UNREACHABLE', message, { key, cause: error });
  }
  const message = `Holdfast: the lease of ${quote(key)} has ended, so it was not adopted`;
  throw new HoldfastError('HOLDFAST_LOST', message, { key });
}

function multi(leases: Lease[]): MultiLease {
  const lost = new AbortController();
  for (const { signal } of leases) {
    if (signal.aborted) lost.abort(signal.reason);
    signal.addEventListener('abort', () => lost.abort(signal.reason), { once: true });
  }
  return new MultiLease({ leases, lost: lost.signal });
}

function coreOf(holdfast: HoldfastCore): Core {
  if (holdfast instanceof HoldfastCore) return holdfast.core;
  throw badOption('holdfast', 'a HoldfastCore or a Holdfast', holdfast);
}

function partsOf(core: Core, lease: Lease | MultiLease | Leadership): readonly Lease[] {
  const one = lease instanceof Leadership ? lease.lease : lease;
  const parts = one instanceof MultiLease ? one.leases : [one];
  for (const one of parts) {
    if (!(one instanceof Lease) || !one.grantedBy(core.releaser)) {
      throw badOption('lease', 'a lease that this instance acquired', lease);
    }
    if (one.besides) throw badOption('lease', 'one without the lock of another library', lease);
    one.assertHeld();
  }
  // a term may end before its lease
  if (lease instanceof Leadership && lease.signal.aborted) throw lease.signal.reason;
  return parts;
}

function kindOf(lease: Lease | MultiLease | Leadership, at: number): Kind {
  if (lease instanceof Leadership) return 'term';
  const one = lease instanceof MultiLease ? lease.leases[at] : lease;
  if (one instanceof RwLease) return 'rw';
  return one instanceof SemaphoreLease ? 'semaphore' : 'lease';
}

function isTerm({ leases }: Parsed): boolean {
  return leases[0]?.kind === 'term';
}

function parse(text: string): Parsed {
  let found: (Parsed & { holdfast?: unknown }) | undefined;
  try {
    found = JSON.parse(text);
  } catch {
    found = undefined;
  }
  const leases: unknown = found?.leases;
  const whole = Array.isArray(leases) && leases.length > 0 && leases.every(isWritten);
  if (found?.holdfast === FORMAT && whole) return found;
  throw badOption('text', `a lease in format ${FORMAT}, as toText() and handOver() write it`, text);
}

const LEAST = { index: 0, fence: 1, weight: 1, changes: 0, signals: 0 } as const;
const DAY = 86_400_000;

function isWritten(one: unknown): one is Written {
  if (typeof one !== 'object' || one === null) return false;
  const { kind, key, id, owner, ttl, maxHold = DAY, mode, ...rest } = one as Partial<Written>;
  const texts = [key, id, owner].every((value) => typeof value === 'string');
  const lengths = [ttl, maxHold].every((value) => typeof value === 'number' && value > 0);
  const numbers = Object.entries(LEAST).every(([name, least]) => {
    const value = rest[name as keyof typeof LEAST];
    return Number.isSafeInteger(value) && (value as number) >= least;
  });
  const named = typeof kind === 'string' && Object.hasOwn(KINDS, kind) && key !== '' && id !== '';
  const isSide = mode === undefined || mode === 'read' || mode === 'write';
  return named && texts && lengths && numbers && isSide && (ttl as number) <= DAY;
}
