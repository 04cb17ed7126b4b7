/**
 * What each short path of the scripts earns: the time of the script with it and without it, in one
 * run. Both are the real script; without it, one condition is never true. The time is that of
 * `INFO commandstats`, the least of the rounds, because other work on the machine only adds to it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from './settings.js';

interface Tools {
  readonly loadScript: (
    path: string,
    options: { replace: Record<string, string> },
  ) => { source: string };
}

const TOOLS: string = new URL('../../tools/lua.mjs', import.meta.url).href;
const FOLDER: string = fileURLToPath(
  new URL('../../packages/holdfast/src/store/redis/scripts/', import.meta.url),
);
const KEYS_EACH = 2000;
const ROUNDS = { quick: 1, full: 25 };
const TERMS = '30000 60000 8 0 30000 1000 30000 1 1';

/** A call of a script; the fence or generation is that of the first call for the key. */
interface Call {
  readonly script: string;
  readonly keys: readonly string[];
  readonly words: readonly (string | number)[];
}
type Step = (key: string, fence: string) => Call;

interface Case {
  readonly name: string;
  readonly edit: readonly [file: string, from: string, to: string];
  readonly before: readonly Step[];
  readonly measured: Step;
  /** One measured call for all keys, instead of one for each. */
  readonly together?: boolean;
}

const step =
  (script: string, words: (key: string, fence: string) => Call['words']): Step =>
  (key, fence) => ({ script, keys: [key, `${key}:q`, `${key}:x`], words: words(key, fence) });
const acquire = (id: string, flags = '101'): Step =>
  step('acquire', () => [id, `${flags} ${TERMS}`, '', '', '']);
const release = (id: string): Step => step('release', () => [id, '0 60000']);
const park = (id: string, as: string): Step =>
  step('park', () => [
    ...[id, as, 'c', 'signal', 30_000, 1000, 0, ''],
    ...[1000, 30_000, 60_000, '', '', 0],
  ]);
const turn = (again: string): Step =>
  step('turn', (_, fence) => [
    ...['a.1', fence, fence, again, 30_000, 30_000, 8, ''],
    ...[0, 0, 30_000, 60_000, '', ''],
  ]);

const off = (file: string, condition: string): Case['edit'] => [
  `short/${file}.lua`,
  `if ${condition}`,
  'if false',
];
const atBarrier =
  (script: string, count: number, ...words: readonly (string | number)[]): Step =>
  (key, generation) => ({
    script,
    keys: [`${key}:g`, `${key}:ga`, `${key}:gp`, `${key}:gx`],
    words: [key, 'barrier', count, generation || 0, 30_000, 60_000, 'c', 't', ...words],
  });
const CASES: readonly Case[] = [
  {
    name: 'take: a new mutex',
    edit: off('take', "holder == '' and queued == 0"),
    before: [],
    measured: acquire('a.1'),
  },
  {
    name: 'take: a mutex that was used before',
    edit: off('take', "holder == '' and queued == 0"),
    before: [acquire('a.1'), release('a.1')],
    measured: acquire('a.2'),
  },
  {
    name: 'join: a waiter joins the queue',
    edit: off('join', 'is_short'),
    before: [acquire('a.1')],
    measured: acquire('b.1'),
  },
  {
    name: 'join: a refusal',
    edit: off('join', 'is_short'),
    before: [acquire('a.1')],
    measured: acquire('b.1', '100'),
  },
  {
    name: 'join: the holder asks again',
    edit: off('join', 'is_short'),
    before: [acquire('a.1')],
    measured: acquire('a.1'),
  },
  {
    name: 'free: no acquisition waits',
    edit: off('free', 'is_own and queued == 0'),
    before: [acquire('a.1')],
    measured: release('a.1'),
  },
  {
    name: 'pass: the first waiter is granted',
    edit: off('pass', 'is_own'),
    before: [acquire('a.1'), acquire('b.1'), acquire('c.1')],
    measured: release('a.1'),
  },
  {
    name: 'leave: a waiter leaves',
    edit: off('leave', 'is_plain'),
    before: [acquire('a.1'), acquire('b.1')],
    measured: release('b.1'),
  },
  {
    name: 'turn: no other process waits',
    edit: off('turn', 'is_plain'),
    before: [acquire('a.1')],
    measured: turn('a.2'),
  },
  {
    name: 'turn: another process waits',
    edit: off('turn', 'is_plain'),
    before: [acquire('a.1'), acquire('b.1')],
    measured: turn('a.2'),
  },
  {
    name: 'renew: the only lease',
    edit: off('renew', 'is_plain'),
    before: [acquire('a.1')],
    measured: step('renew', () => ['a.1', 30_000, 60_000]),
  },
  {
    name: `renew-many: ${KEYS_EACH} leases in a call`,
    edit: ['short/renew-many.lua', 'if string.byte(seen) ~= 195', 'if true'],
    before: [acquire('a.1')],
    measured: step('renewMany', () => ['a.1']),
    together: true,
  },
  {
    name: 'wait: one of two waiters polls',
    edit: off('wait', 'is_plain'),
    before: [acquire('a.1'), acquire('b.1'), acquire('c.1')],
    measured: step('poll', () => [30_000, 60_000, 1000, 'c.1']),
  },
  {
    name: 'asleep: a parked waiter polls',
    edit: off('asleep', 'seen and not is_plain'),
    before: [acquire('a.1'), park('a.1', 'a.2')],
    measured: step('poll', () => [30_000, 60_000, 1000, 'a.2']),
  },
  {
    name: 'asleep: a parked waiter is asked for',
    edit: off('asleep', 'seen and not is_plain'),
    before: [
      acquire('a.1'),
      park('a.1', 'a.2'),
      acquire('b.1'),
      park('b.1', 'b.2'),
      // the resource is kept for long
      step('poll', () => [30_000, 300_000, 1000, 'b.2']),
    ],
    measured: step('poll', () => [30_000, 300_000, 1000, 'a.2']),
  },
  {
    name: 'stay: a party keeps its arrival alive',
    edit: off('stay', 'seen and #ids == 1'),
    before: [atBarrier('watch', 3), atBarrier('arrive', 3, 'a.1', 1)],
    measured: atBarrier('watch', 0, 'a.1'),
  },
  {
    name: 'inspect: the only lease',
    edit: off('inspect', 'is_plain'),
    before: [acquire('a.1')],
    measured: step('inspect', () => [10]),
  },
];

export async function printShortPaths({ server, quick }: Settings): Promise<void> {
  await using target = await startServer({ server });
  const redis = new Redis({ host: target.host, port: target.port });
  try {
    console.log('the time of a script in µs, with a short path and without it');
    for (const one of CASES) {
      const rounds = quick ? ROUNDS.quick : ROUNDS.full;
      const times: [number, number] = [Infinity, Infinity];
      for (let round = 0; round < rounds; round += 1) {
        times[0] = Math.min(times[0], await timeOf(redis, one, true));
        times[1] = Math.min(times[1], await timeOf(redis, one, false));
      }
      const [without, short] = [times[1], times[0]];
      const saved = `${Math.round(100 * (1 - short / without))} %`;
      const columns = [short.toFixed(1), without.toFixed(1), saved].map((one) => one.padStart(7));
      console.log([one.name.padEnd(40), ...columns].join(' '));
    }
  } finally {
    redis.disconnect();
  }
}

/** The first time in a reply: a fence, or the generation of a new gate. */
const firstTime = (reply: unknown): string => /\b\d{16}\b/.exec(String(reply))?.[0] ?? '';

/** The µs of the measured script for one key. */
async function timeOf(redis: Redis, one: Case, isShort: boolean): Promise<number> {
  const keys = Array.from({ length: KEYS_EACH }, (_, at) => `bench:short:${at}`);
  await redis.flushall();
  let fences: string[] = [];
  for (const step of one.before) {
    const replies = await send(
      redis,
      keys.map((key, at) => step(key, fences[at] ?? '')),
    );
    if (fences.length === 0) fences = replies.map(firstTime);
  }
  const calls = keys.map((key, at) => one.measured(key, fences[at] ?? ''));
  const all = one.together === true ? [joined(calls)] : calls;
  const edit = isShort ? undefined : one.edit;
  await load(redis, `${all[0]?.script}`, edit);
  await redis.config('RESETSTAT');
  await send(redis, all, edit);
  const info = await redis.info('commandstats');
  return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(info)?.[1]) / KEYS_EACH;
}

const joined = (calls: readonly Call[]): Call => ({
  script: `${calls[0]?.script}`,
  keys: calls.flatMap(({ keys }) => keys),
  words: [30_000, 60_000, 0, ...calls.flatMap(({ words }) => words)],
});

async function send(redis: Redis, calls: readonly Call[], edit?: Case['edit']): Promise<unknown[]> {
  const sha = await load(redis, `${calls[0]?.script}`, edit);
  const pipeline = redis.pipeline();
  for (const { keys, words } of calls) {
    pipeline.evalsha(sha, keys.length, ...keys, ...words, 'proof');
  }
  const results = (await pipeline.exec()) ?? [];
  for (const [error] of results) if (error !== null) throw error;
  return results.map(([, reply]) => reply);
}

const shas = new Map<string, string>();

async function load(redis: Redis, script: string, edit?: Case['edit']): Promise<string> {
  const name = `${script} ${edit?.[0] ?? ''}`;
  const known = shas.get(name);
  if (known !== undefined) return known;
  const { loadScript } = (await import(TOOLS)) as Tools;
  const replace: Record<string, string> = {};
  if (edit !== undefined) {
    const [file, from, to] = edit;
    const text = readFileSync(FOLDER + file, 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${file}: not once: ${from}`);
    replace[file] = text.replace(from, to);
  }
  const { source } = loadScript(`${FOLDER}${script}.lua`, { replace });
  const sha = (await redis.script('LOAD', source)) as string;
  shas.set(name, sha);
  return sha;
}
