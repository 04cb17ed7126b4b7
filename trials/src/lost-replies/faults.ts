/**
 * Faults planted between Holdfast and its client: what a lock would do that is built as locks on
 * Redis usually are.
 */
import { callOf } from '../support/commands.js';

/**
 * - `new-id`: each acquire that is sent has an id of its own, as with `SET NX` and a new token. The
 *   later commands of the acquisition name the last of them.
 * - `no-withdrawal`: nothing is given back that nobody got.
 * - `release-any`: a release that is sent again deletes the key, whoever holds it by then.
 */
export type Fault = 'new-id' | 'no-withdrawal' | 'release-any';

export const FAULTS: readonly Fault[] = ['new-id', 'no-withdrawal', 'release-any'];

/** Deletes a key of the server. */
export type Deletes = (name: string) => Promise<unknown>;

/** What one of the two clients has. */
interface Sender {
  evalsha?: (...words: unknown[]) => Promise<unknown>;
  sendCommand?: (words: string[], ...rest: unknown[]) => Promise<unknown>;
}

/** What is sent instead of a command, or what is answered without sending any. */
type Altered = { send: string[] } | { answer: Promise<unknown> };

/** Makes a client send what the fault makes of its commands. */
export function plant(client: object, fault: Fault, deletes: Deletes): void {
  const sender = client as Sender;
  const alter = alteration(fault, deletes);
  const { evalsha, sendCommand } = sender;
  if (evalsha !== undefined) {
    sender.evalsha = (...words) => {
      const altered = alter(['evalsha', ...words.map(String)]);
      return 'send' in altered ? evalsha.apply(client, altered.send.slice(1)) : altered.answer;
    };
  } else if (sendCommand !== undefined) {
    sender.sendCommand = (words, ...rest) => {
      const altered = alter(words);
      return 'send' in altered ? sendCommand.call(client, altered.send, ...rest) : altered.answer;
    };
  }
}

function alteration(fault: Fault, deletes: Deletes): (words: string[]) => Altered {
  switch (fault) {
    case 'new-id':
      return newIds();
    case 'no-withdrawal':
      return withoutReleases;
    case 'release-any':
      return releasesAnybody(deletes);
  }
}

function newIds(): (words: string[]) => Altered {
  const latest = new Map<string, string>();
  let count = 0;
  return (words) => {
    const call = callOf(words);
    const [id = ''] = call?.args ?? [];
    if (call?.op === 'acquire') {
      count += 1;
      latest.set(id, `${id}x${count}`);
    }
    return { send: words.map((word) => (word === id ? (latest.get(id) ?? id) : word)) };
  };
}

function withoutReleases(words: string[]): Altered {
  if (callOf(words)?.op !== 'release') return { send: words };
  return { answer: Promise.resolve(['absent', 0, 0]) };
}

function releasesAnybody(deletes: Deletes): (words: string[]) => Altered {
  const released = new Set<string>();
  return (words) => {
    const call = callOf(words);
    const [id = ''] = call?.args ?? [];
    if (call?.op !== 'release') return { send: words };
    if (released.has(id)) return { answer: deletes(call.record).then(() => ['freed', 0, 0]) };
    released.add(id);
    return { send: words };
  };
}
