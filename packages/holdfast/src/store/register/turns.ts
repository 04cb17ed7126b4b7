/**
 * Reads and swaps of one turn of the event loop, as one call of `readMany` and of `swapMany`. So a
 * round of renewals of many leases costs few requests. A call that is under way keeps no other one
 * from its way.
 */
import { StoreFailure } from '../port.js';
import type { PeerChange, PeerRegister, PeerVersioned } from './peers.js';
import type { Swap, Swapped } from './register.js';
import { isRegisterError } from './register-error.js';

/** The most keys of one call. */
const MAX = 500;

interface Asked<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** The part of a register that the proposals of all keys use. */
export type Turns = Pick<PeerRegister, 'read' | 'swap'>;

export function turnsOf(register: PeerRegister): Turns {
  const read = (key: string): Promise<PeerVersioned> => register.read(key);
  const swap = ({ key, version, change }: Swap): Promise<Swapped> =>
    register.swap(key, version, change as PeerChange);
  const reads =
    register.readMany && collect(read, async (keys) => (await register.readMany?.(keys)) ?? []);
  const swaps =
    register.swapMany && collect(swap, async (all) => (await register.swapMany?.(all)) ?? []);
  return {
    read: reads ?? read,
    swap: (key, version, change) => (swaps ?? swap)({ key, version, change }),
  };
}

/** Collects the calls of a turn. A single one is made by itself. */
function collect<Q, A>(
  one: (question: Q) => Promise<A>,
  many: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  let asked: Asked<Q, A>[] = [];
  const send = async (batch: readonly Asked<Q, A>[]): Promise<void> => {
    try {
      const answers = await many(batch.map(({ question }) => question));
      if (answers.length !== batch.length) throw wrongCount(batch.length);
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at] as A);
    } catch (error) {
      // refused means that none took effect, perhaps because of one of them
      const isRefused = isRegisterError(error) && error.kind === 'refused';
      for (const each of batch) {
        if (isRefused) one(each.question).then(each.resolve, each.reject);
        else each.reject(error);
      }
    }
  };
  const flush = (): void => {
    const all = asked;
    asked = [];
    for (let from = 0; from < all.length; from += MAX) {
      const batch = all.slice(from, from + MAX);
      const [first] = batch;
      if (batch.length > 1 || first === undefined) void send(batch);
      else one(first.question).then(first.resolve, first.reject);
    }
  };
  return (question) =>
    new Promise((resolve, reject) => {
      asked.push({ question, resolve, reject });
      if (asked.length === 1) queueMicrotask(flush);
    });
}

function wrongCount(count: number): StoreFailure {
  const message = `the register must return an answer for each of ${count} keys`;
  return new StoreFailure(message, 'unanswered', undefined);
}
