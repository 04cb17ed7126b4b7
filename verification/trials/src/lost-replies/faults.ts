/**
 * Faults planted between Holdfast and its client. They imitate mistakes of common Redis locks.
 */
import { callOf } from '../support/commands.js';

/**
 * - `new-id`: each sent acquire has a new id, as with `SET NX` and a new token. The later commands
 *   of the acquisition use the last id.
 * - `no-withdrawal`: abandoned acquisitions are not withdrawn.
 * - `release-any`: a repeated release deletes the key, also if another owner holds it by then.
 */
export type Fault = 'new-id' | 'no-withdrawal' | 'release-any';

export const FAULTS: readonly Fault[] = ['new-id', 'no-withdrawal', 'release-any'];

/** Deletes a key of the server. */
export type Deletes = (name: string) => Promise<unknown>;

/** The method that one of the two clients has for sending a command. */
interface Sender {
  evalsha?: (...words: unknown[]) => Promise<unknown>;
  sendCommand?: (words: string[], ...rest: unknown[]) => Promise<unknown>;
}

/** A changed command to send, or an answer without sending. */
type Altered = { send: string[] } | { answer: Promise<unknown> };

/** Makes a client send its commands as changed by the fault. */
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
  return { answer: Promise.resolve(proven(words, 'absent')) };
}

/** A reply of a release, with the proof of its request. */
function proven(words: readonly string[], status: 'absent' | 'freed'): unknown {
  return [words.at(-1), [status, 0, 0]];
}

function releasesAnybody(deletes: Deletes): (words: string[]) => Altered {
  const released = new Set<string>();
  return (words) => {
    const call = callOf(words);
    const [id = ''] = call?.args ?? [];
    if (call?.op !== 'release') return { send: words };
    const reply = proven(words, 'freed');
    if (released.has(id)) return { answer: deletes(call.record).then(() => reply) };
    released.add(id);
    return { send: words };
  };
}
