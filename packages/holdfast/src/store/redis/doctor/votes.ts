/** Judges by the markers of `quorum/acceptor-script.ts` whether members of a quorum vote. */
import type { Finding } from '../../finding.js';
import type { Seen } from './group.js';
import type { Info } from './facts.js';
import type { Probe } from './probe.js';

const SOURCE = "return redis.call('HMGET', KEYS[1], 'r', 'v', 'p')";

export interface Marker {
  /** In seconds; `undefined`: not decided. */
  readonly from: number | undefined;
  readonly partial: boolean;
}

/** `'none'`: no process has seen this boot. `undefined`: unknown, or not needed. */
export async function markerOf(
  probe: Probe,
  info: Info | undefined,
): Promise<Marker | 'none' | undefined> {
  const { prefix, quorum } = probe.deployment;
  const boot = info?.get('master_replid');
  if (quorum === undefined || quorum.durable || quorum.guard === 0 || !boot) return undefined;
  try {
    const raw = await probe.answer(probe.port.eval(SOURCE, [`${prefix}quorum`], []));
    const [replication, from, partial] = raw as (string | null)[];
    if (replication !== boot) return 'none';
    return { from: from ? Number(from) / 1e6 : undefined, partial: partial === '1' };
  } catch (error) {
    // a missing right is reported later
    probe.refusal(error);
    return undefined;
  }
}

/** Nothing, if no process has used the quorum. */
export function notVoting(seen: readonly Seen[]): Finding[] {
  if (!seen.some(({ marker }) => typeof marker === 'object')) return [];
  const times = seen.flatMap(({ measured }) => measured?.time ?? []).sort((a, b) => a - b);
  const now = times[Math.floor(times.length / 2)] ?? 0;
  return seen.flatMap(({ address, marker }) => {
    const evidence = marker && why(marker, now);
    if (evidence === undefined) return [];
    const texts = {
      message:
        'the member does not vote, or for short records only: it has no memory of earlier votes ' +
        '(it is new, or was started again without durable data)',
      advice: 'start the members that are silent, and wait; the option durable keeps votes',
    };
    return [{ code: 'not-voting', severity: 'warning', server: address, evidence, ...texts }];
  });
}

function why(marker: Marker | 'none', now: number): string | undefined {
  if (marker === 'none') return 'no process has seen it so';
  const { from, partial } = marker;
  if (from === undefined) return 'no process could decide yet from when on it votes';
  if (from > now) return `it votes in ${Math.ceil(from - now)} s`;
  return partial ? 'it votes only for records that are kept for at most 180 s' : undefined;
}
