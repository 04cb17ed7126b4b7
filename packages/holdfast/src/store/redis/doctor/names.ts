/** The keys and the channel of an examination, at the examined node. */
import { slotOf } from '../hash-slot.js';
import type { Probe } from './probe.js';

const TAGS_MAX = 500_000;

export interface ProbeNames {
  readonly keys: readonly [string, string];
  readonly channel: string;
}

/**
 * Names with slots of the node, on a cluster; `undefined` if a tag in the client's prefix puts all
 * keys into another slot.
 */
export function namesOf({ deployment, link, port, terms }: Probe): ProbeNames | undefined {
  const { prefix } = deployment;
  const own = (name: string): boolean => {
    const { cluster } = port;
    return cluster === undefined || cluster.masterOf(slotOf(name)) === link.address;
  };
  // no name of a lock, which ends with the brace
  const key = tagged(
    (tag) => `${prefix}{doctor ${terms.id} ${tag}}:d`,
    (name) => {
      return own(port.keyPrefix + name);
    },
  );
  const base = `${prefix}wake:doctor-${terms.id}`;
  const channel = port.cluster === undefined ? base : tagged((tag) => `${base}{${tag}}`, own);
  if (key === undefined || channel === undefined) return undefined;
  return { keys: [`${key}1`, `${key}2`], channel };
}

function tagged(
  name: (tag: number) => string,
  fits: (name: string) => boolean,
): string | undefined {
  for (let tag = 0; tag < TAGS_MAX; tag++) if (fits(name(tag))) return name(tag);
  return undefined;
}
