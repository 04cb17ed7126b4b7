/** Functions that both adapters of cluster clients use. */
import type { CallTerms, ScanPage } from './port.js';

/**
 * Reads one page of SCAN over all masters, one after the other. The cursor is the address of a
 * master and its own cursor; `0` begins and ends.
 */
export async function scanMasters(
  masters: readonly string[],
  cursor: string,
  scan: (address: string, cursor: string) => Promise<ScanPage>,
): Promise<ScanPage> {
  const sorted = [...masters].sort();
  const [address = sorted[0], at = '0'] = cursor === '0' ? [] : cursor.split(' ');
  if (address === undefined) return { cursor: '0', keys: [] };
  const page = await scan(address, at);
  if (page.cursor !== '0') return { ...page, cursor: `${address} ${page.cursor}` };
  const next = sorted.find((one) => one > address);
  return { ...page, cursor: next === undefined ? '0' : `${next} 0` };
}

/** Replies of a node that has not executed the command; the client finds the right node. */
const ELSEWHERE = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/** Whether an error is the reply of a node that has not executed the command. */
export function isRedirection(error: unknown): boolean {
  return error instanceof Error && ELSEWHERE.test(error.message);
}

const HALF_MOVED = /^(?:ASK|TRYAGAIN) /;

/**
 * Whether an error is the reply of a node to a call with keys of a slot that moves, of which it has
 * none or only some.
 */
export function isHalfMoved(error: unknown): boolean {
  return error instanceof Error && HALF_MOVED.test(error.message);
}

/** Whether the client of the cluster sends a call again that a node has answered with an error. */
export function isForCluster({ movesApart }: CallTerms, error: unknown): boolean {
  return isRedirection(error) && !(movesApart === true && isHalfMoved(error));
}

/** The client has no connection to a master, so it has sent nothing. */
export class UnknownNode extends Error {
  constructor(address: string) {
    super(`the client has no connection to ${address}`);
  }
}
