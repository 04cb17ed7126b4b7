/**
 * Concurrent reads and swaps of one key, and a check of their history.
 *
 * Each swap appends a token that is used once, so a state names all swaps before it, and its length
 * is its place. The history is linearizable if the states are prefixes of one another, and the
 * places agree with real time: what begins after an answer has no earlier place (Herlihy and Wing,
 * 1990; for a register with unique values this is enough).
 */
import type { Register } from '../register.js';
import { caseOf, check, local, type RegisterCase, sleep, to } from './case.js';

const WORKERS = 8;
/** A history ends after so many swaps, or this time. */
const SWAPS_MAX = 120;
const MS_MAX = 3000;

/** It saw or made the state with so many tokens. */
interface Call {
  readonly began: number;
  readonly ended: number;
  readonly place: number;
  readonly tokens: readonly string[];
}

interface History {
  readonly calls: Call[];
  /** Of swaps that returned `false`. */
  readonly denied: string[];
}

const tokensOf = (state: string): string[] => (state === '' ? [] : state.split(' '));

async function work(
  register: Register,
  key: string,
  worker: number,
  { calls, denied }: History,
  isOver: () => boolean,
): Promise<void> {
  for (let round = 0; !isOver(); round += 1) {
    const began = local();
    const { state, version } = await register.read(key);
    const tokens = tokensOf(state);
    calls.push({ began, ended: local(), place: tokens.length, tokens });
    // others may change the key between the read and the swap
    if ((round + worker) % 3 === 0) await sleep(1);
    const swapBegan = local();
    const token = `${worker}.${round}`;
    const next = [...tokens, token];
    if ((await register.swap(key, version, to(next.join(' ')))) === false) denied.push(token);
    else calls.push({ began: swapBegan, ended: local(), place: next.length, tokens: next });
  }
}

function judge({ calls, denied }: History, order: readonly string[]): void {
  const liar = denied.find((token) => order.includes(token));
  check(liar === undefined, `a swap that returned false took effect: ${liar}`);
  for (const { tokens } of calls) {
    const agrees = tokens.every((token, at) => token === order[at]);
    check(agrees, `a swap that succeeded is not in the last state: ${tokens.at(-1)}`);
  }
  const ends = [...calls].sort((a, b) => a.ended - b.ended);
  let latest = 0;
  let next = 0;
  for (const call of [...calls].sort((a, b) => a.began - b.began)) {
    for (; (ends[next]?.ended ?? Infinity) < call.began; next += 1) {
      latest = Math.max(latest, ends[next]?.place ?? 0);
    }
    check(
      call.place >= latest,
      `a call saw ${call.place} swaps, although ${latest} were answered before it began`,
    );
  }
}

const linearizable = caseOf('histories of concurrent calls are linearizable', async (at) => {
  const registers = [await at.register(), await at.register(), await at.register()];
  const key = at.key();
  const history: History = { calls: [], denied: [] };
  const end = local() + MS_MAX * 1000;
  const swaps = (): number => Math.max(0, ...history.calls.slice(-20).map(({ place }) => place));
  const isOver = (): boolean => local() > end || swaps() >= SWAPS_MAX;
  await Promise.all(
    Array.from({ length: WORKERS }, (_, worker) => {
      const register = registers[worker % registers.length] as Register;
      return work(register, key, worker, history, isOver);
    }),
  );
  const { state } = await (registers[0] as Register).read(key);
  const order = tokensOf(state);
  check(new Set(order).size === order.length, 'a swap took effect twice');
  check(order.length > 1, 'hardly any swap succeeded');
  judge(history, order);
});

export const HISTORIES: readonly RegisterCase[] = [linearizable];
