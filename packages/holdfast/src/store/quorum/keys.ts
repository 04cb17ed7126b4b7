/** The keys with a record. Each value is at a majority, so a majority names all keys. */
import type { TimeLimit } from '../port.js';
import type { Member } from './member.js';
import type { Members } from './members.js';

export async function* keysOf(
  members: Members,
  prefix: string,
  within: TimeLimit,
): AsyncIterable<string> {
  const seen = new Set<string>();
  let wanted = members.majority;
  let left: readonly Member[] = members.sound;
  let failure: unknown;
  // a busy server may need longer
  for (const limit of [members.limit, within]) {
    const failed: Member[] = [];
    for (const member of left) {
      if (wanted === 0) return;
      try {
        for await (const key of member.acceptor.keys(prefix, limit)) {
          if (!seen.has(key)) yield key;
          seen.add(key);
        }
        wanted -= 1;
      } catch (error) {
        failure = error;
        failed.push(member);
      }
    }
    left = failed;
  }
  if (wanted > 0) throw failure;
}
