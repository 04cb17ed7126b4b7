/** What the adapters of cluster clients share. */
import type { CallTerms, ScanPage } from './port.js';

/**
 * Reads one page of SCAN over all masters in turn. The cursor is the address of a master and its
 * own cursor; `0` begins and ends.
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

/** The replies of a node that has not executed the command; the client finds the right node. */
const ELSEWHERE = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

export function isRedirection(error: unknown): boolean {
  return error instanceof Error && ELSEWHERE.test(error.message);
}

const HALF_MOVED = /^(?:ASK|TRYAGAIN) /;

/** The reply to a call with keys of a slot that moves, of which the node has none or some. */
export function isHalfMoved(error: unknown): boolean {
  return error instanceof Error && HALF_MOVED.test(error.message);
}

/** Whether the client sends a call again after this error of a node. */
export function isForCluster({ movesApart }: CallTerms, error: unknown): boolean {
  return isRedirection(error) && !(movesApart === true && isHalfMoved(error));
}

/** The client is not connected to the master, and has sent nothing. */
export class UnknownNode extends Error {
  constructor(address: string) {
    super(`the client has no connection to ${address}`);
  }
}
