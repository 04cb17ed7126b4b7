import { attempt } from './common.js';
import type { ScanPage } from './port.js';

export const PROBE = 'return ARGV[1]';

export async function scanPage(
  send: (words: string[]) => Promise<unknown>,
  from: string,
  match: string,
  count: number,
  proof = '',
): Promise<ScanPage> {
  const scan = ['SCAN', from, 'MATCH', match, 'COUNT', `${count}`];
  const sent = [scan, ['EVAL', PROBE, '0', proof]].map((words) => attempt(() => send(words)));
  const [page, answer] = await Promise.all(sent);
  const [cursor, keys] = (Array.isArray(page) ? page : []) as [string, string[]];
  return { cursor, keys, answer };
}
