/** The keys and the channel of an examination, at the node that is examined. */
import { slotOf } from '../slots.js';
import type { Probe } from './probe.js';

/** A master with a single slot needs 16,384 attempts on average. */
const TAGS_MAX = 500_000;

export interface ProbeNames {
  readonly keys: readonly [string, string];
  readonly channel: string;
}

/** On a cluster, names whose slots belong to the node. */
export function namesOf({ deployment, link, port, terms }: Probe): ProbeNames {
  const { prefix } = deployment;
  const own = (name: string): boolean => {
    const { cluster } = port;
    return cluster === undefined || cluster.masterOf(slotOf(name)) === link.address;
  };
  // such a name is not the name of a lock: those end with the brace
  const key = tagged(
    (tag) => `${prefix}{doctor ${terms.id} ${tag}}:d`,
    (name) => {
      return own(port.keyPrefix + name);
    },
  );
  const channel = `${prefix}wake:doctor-${terms.id}`;
  return {
    keys: [`${key}1`, `${key}2`],
    // a sharded channel ends with a tag
    channel: port.cluster === undefined ? channel : tagged((tag) => `${channel}{${tag}}`, own),
  };
}

function tagged(name: (tag: number) => string, fits: (name: string) => boolean): string {
  for (let tag = 0; tag < TAGS_MAX; tag++) if (fits(name(tag))) return name(tag);
  throw new Error('the client knows no slot of this master');
}
