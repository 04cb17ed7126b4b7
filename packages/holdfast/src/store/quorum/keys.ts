/** The keys with a record at a majority of the servers. */
import type { TimeLimit } from '../port.js';
import type { Members } from './members.js';

export async function* keysOf(
  members: Members,
  prefix: string,
  within: TimeLimit,
): AsyncIterable<string> {
  const seen = new Set<string>();
  let answered = 0;
  let failure: unknown;
  for (const { acceptor } of members.sound) {
    try {
      for await (const key of acceptor.keys(prefix, within)) {
        if (!seen.has(key)) yield key;
        seen.add(key);
      }
      answered += 1;
    } catch (error) {
      failure = error;
    }
  }
  if (answered < members.majority) throw failure;
}
