/** What the adapters of cluster clients share. */
import type { CallTerms, ScanPage } from './port.js';

/**
 * One page of SCAN over all masters in turn. The cursor is a master's address and its cursor; `0`
 * begins and ends.
 */
export async function scanMasters(
  masters: readonly string[],
  cursor: string,
  scan: (address: string, cursor: string) => Promise<ScanPage>,
): Promise<ScanPage> {
  const sorted = [...masters].sort();
  const [address = sorted[0], at = '0'] = cursor === '0' ? [] : cursor.split(' ');
  if (address === undefined) throw new UnknownNode('any master');
  const page = await scan(address, at);
  if (page.cursor !== '0') return { ...page, cursor: `${address} ${page.cursor}` };
  const next = sorted.find((one) => one > address);
  return { ...page, cursor: next === undefined ? '0' : `${next} 0` };
}

/** Replies of a node that did not execute the command; the client finds the right one. */
const ELSEWHERE = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

export function isRedirection(error: unknown): boolean {
  return error instanceof Error && ELSEWHERE.test(error.message);
}

const MOVES = /^(?:MOVED|ASK|TRYAGAIN) /;

/** The slot moves or has moved. */
export function isMoving(error: unknown): boolean {
  return error instanceof Error && MOVES.test(error.message);
}

/** Whether the client repeats a call after this error of a node. */
export function isForCluster({ movesApart }: CallTerms, error: unknown): boolean {
  return isRedirection(error) && !(movesApart === true && isMoving(error));
}

/** Not connected to the master; nothing was sent. */
export class UnknownNode extends Error {
  constructor(address: string) {
    super(`the client has no connection to ${address}`);
  }
}
