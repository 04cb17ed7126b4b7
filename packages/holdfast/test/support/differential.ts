/**
 * Sends the same commands at the same times to the TypeScript engine and to the Lua scripts.
 * Compares every reply and every push, and the whole state after each sequence, field by field.
 *
 * The scripts are the real ones, except `lib/clock.lua`: its replacement reads the time from an
 * extra key. Time steps then take no real time, and the server's own clock has no effect. Each
 * sequence uses new key names, so the server is never cleared.
 */
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { loadScript, pieces } from '../../../../tools/lua.mjs';
import { Engine } from '../../src/engine/engine.js';
import type { Resource } from '../../src/engine/resource.js';
import type { Command, Op, Push, Reply } from '../../src/engine/commands.js';
import type { ClientPort } from '../../src/store/clients/port.js';
import { decodePush } from '../../src/store/push-text.js';
import { answerTo, encode } from '../../src/store/redis/codec.js';
import { keysOf } from '../../src/store/redis/keys.js';
import { Proofs } from '../../src/store/redis/proven-port.js';
import { argsOf, renewalsOf } from '../../src/store/redis/many-renewals.js';
import { isShort, type Short } from '../../src/store/redis/several.js';
import { DUMP, type Dump, dumpOf } from './dump.js';
import { type Loss, type LossyStep, PARTS } from './loss.js';
import { type Call, callOfTwo, replyOfTwo } from './calls-of-several.js';
import { commandOf, elapsedOf, KEYS, LIVE_CHANNELS, renewalOfAll } from './traffic.js';

export const FOLDER: string = fileURLToPath(
  new URL('../../src/store/redis/scripts/', import.meta.url),
);
const VIRTUAL_CLOCK = 'local now = tonumber(table.remove(KEYS))\n';
const SCRIPTS: readonly (Op | 'acquireMany' | 'releaseMany' | 'inspectMany')[] = [
  'acquire',
  'acquireMany',
  'release',
  'releaseMany',
  'turn',
  'renew',
  'renewMany',
  'poll',
  'forceRelease',
  'inspect',
  'inspectMany',
  'park',
  'signal',
  'resize',
  'capacity',
];
/** A message published here after a sequence arrives after all pushes of the sequence. */
const SYNC = 'differential-sync';

interface Script {
  readonly sha: string;
  readonly source: string;
}

export type Scripts = Readonly<Record<string, Script>>;

/** The file of a command's script. */
export function scriptOf(op: string): string {
  return `${op}.lua`;
}

/** The files of each script. A planted fault changes some of them. */
const FILES = new Map<string, ReadonlySet<string>>(
  SCRIPTS.map((op) => [op, new Set(pieces(FOLDER + scriptOf(op)).map(({ file }) => file))]),
);

/** The name of the script that reads the whole state of a key. */
const STATE = 'state';

/** The scripts without a fault, which each server gets once. */
const unchanged = new WeakMap<Redis, Promise<Scripts>>();

async function load(redis: Redis, op: string, replace: Record<string, string>): Promise<Script> {
  const { source } = loadScript(FOLDER + scriptOf(op), {
    replace: { 'lib/clock.lua': VIRTUAL_CLOCK, ...replace },
  });
  return { source, sha: (await redis.script('LOAD', source)) as string };
}

async function loadUnchanged(redis: Redis): Promise<Scripts> {
  const scripts: Record<string, Script> = {};
  for (const op of SCRIPTS) scripts[op] = await load(redis, op, {});
  scripts[STATE] = { source: DUMP, sha: (await redis.script('LOAD', DUMP)) as string };
  return scripts;
}

/** Loads the scripts with a virtual clock into a server. `replace` changes the text of files. */
export async function loadScripts(
  redis: Redis,
  replace: Record<string, string> = {},
): Promise<Scripts> {
  let plain = unchanged.get(redis);
  if (plain === undefined) unchanged.set(redis, (plain = loadUnchanged(redis)));
  const scripts: Record<string, Script> = { ...(await plain) };
  for (const [op, files] of FILES) {
    const own = Object.entries(replace).filter(([file]) => files.has(file));
    if (own.length > 0) scripts[op] = await load(redis, op, Object.fromEntries(own));
  }
  return scripts;
}

/** The engine's replies, pushes and states for one sequence. */
interface Expected {
  readonly sent: { command: Command; now: number; reply: Reply; lost: readonly Loss[] }[];
  readonly pushes: [string, Push][];
  readonly states: readonly (Dump | null)[];
}

/** The proof of the call at a place of a pipeline. */
export const proofOf = (place: number): string => `p${place}`;

const PROOFS = new Proofs({ name: 'scripts' } as ClientPort);

/** The result of a script, whose reply must repeat the proof of its call. */
export function answerAt(place: number, raw: unknown): unknown {
  try {
    return PROOFS.read(raw, proofOf(place));
  } catch (cause) {
    throw new Error(`no proof in ${JSON.stringify(raw)}`, { cause });
  }
}

/** Sequences run by all drivers: keeps the key names of different drivers apart. */
let sequences = 0;

/** Drives both sides, and counts the cases that occurred. */
export class Differential {
  operations = 0;
  /** How often each case occurred. */
  readonly seen: Map<string, number> = new Map();
  readonly #redis: Redis;
  readonly #scripts: Scripts;
  readonly #heard: [string, Push][] = [];
  #synced: (prefix: string) => void = () => undefined;

  constructor(redis: Redis, scripts: Scripts) {
    this.#redis = redis;
    this.#scripts = scripts;
  }

  /** Subscribes to the live channels. Must be called before the first sequence. */
  async listen(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel: string, payload: string) => {
      if (channel === SYNC) this.#synced(payload);
      const push = decodePush(payload);
      if (push !== undefined) this.#heard.push([channel, push]);
    });
    await subscriber.subscribe(SYNC, ...LIVE_CHANNELS);
    // A subscriber of a pattern does not count as alive.
    await subscriber.psubscribe('dead-*');
  }

  /** Runs one sequence on both sides. Throws at the first difference. */
  async run(steps: readonly LossyStep[]): Promise<void> {
    const prefix = `d${process.pid}-${sequences++}:`;
    const expected = this.#expect(steps);
    this.operations += expected.sent.length;
    this.#heard.length = 0;
    const pipeline = this.#redis.pipeline();
    const places: number[] = [];
    const send = (script: string, { keys, args }: Call, now: number): void => {
      const { sha } = this.#scripts[script] as Script;
      const proof = proofOf(pipeline.length);
      pipeline.evalsha(sha, keys.length + 1, ...keys, `${now}`, ...args, proof);
    };
    for (const [index, { command, now, lost }] of expected.sent.entries()) {
      for (const { key, part } of lost) {
        pipeline.del(keysOf(prefix, key)[PARTS.indexOf(part)] as string);
      }
      places.push(pipeline.length);
      if (!isOfSeveral(command, index)) send(command.op, callOf(prefix, command), now);
      else send(`${command.op}Many`, callOfTwo(prefix, command, index), now);
    }
    const state = this.#scripts[STATE] as Script;
    for (const key of KEYS) pipeline.evalsha(state.sha, 3, ...keysOf(prefix, key));
    pipeline.publish(SYNC, prefix);
    const allHeard = this.#heardOf(prefix);
    const answers = (await pipeline.exec()) as [Error | null, unknown][];
    await allHeard;
    for (const [index, { command, reply }] of expected.sent.entries()) {
      const place = places[index] as number;
      const [error, raw] = answers[place] as [Error | null, unknown];
      const what = `reply to step ${index} ${JSON.stringify(command)}`;
      if (error !== null) throw new Error(`${what}: ${error.message}`, { cause: error });
      const answer = answerAt(place, raw);
      const several = isOfSeveral(command, index);
      const actual = several ? replyOfTwo(command, answer) : replyOf(command, answer);
      if (several) this.#count(`${command.op} with another: ${actual?.status ?? 'alone'}`);
      if (actual !== undefined) same(what, actual, reply);
    }
    same('pushes', this.#heard, expected.pushes);
    for (const [index, key] of KEYS.entries()) {
      const [error, raw] = answers.at(index - KEYS.length - 1) as [Error | null, string];
      if (error !== null) throw error;
      same(`state of ${key}`, JSON.parse(raw), expected.states[index]);
    }
  }

  #expect(steps: readonly LossyStep[]): Expected {
    const engine = new Engine((channel) => (LIVE_CHANNELS.includes(channel) ? 1 : 0));
    const pushes: [string, Push][] = [];
    const tickets = new Map<string, number>();
    const sent: Expected['sent'] = [];
    // Far in the future, so that the server never expires the keys itself.
    let now = (Date.now() + 86_400_000) * 1000;
    const apply = (command: Command, lost: readonly Loss[] = []): void => {
      const key = command.op === 'renewMany' ? (KEYS[0] as string) : command.key;
      const { fence: before = 0, forgetAt = 0 } = engine.resource(key) ?? {};
      this.#countState(command, engine.resource(key), now);
      const outcome = engine.apply(command, now);
      const { reply } = outcome;
      for (const { channel, push } of outcome.pushes) {
        this.#count(`push ${push.kind}`);
        if (LIVE_CHANNELS.includes(channel)) pushes.push([channel, push]);
      }
      if (command.op === 'acquire' && reply.status === 'queued') {
        if (command.ticket !== 0 && command.ticket === reply.ticket) this.#count('place regained');
        tickets.set(`${key} ${command.id}`, reply.ticket);
      }
      this.#countReply(command, reply, before);
      if (reply.status === 'renewals') {
        const kept = engine.resource(key)?.forgetAt === forgetAt;
        if (reply.left[0] !== 0) this.#count(`renewal ${kept ? 'keeps' : 'moves'} the end`);
        for (const left of reply.left) {
          this.#count(left === 0 ? 'renewals: absent' : 'renewals: renewed');
        }
      }
      sent.push({ command, now, reply, lost });
    };
    for (const step of steps) {
      const resource = (): ReturnType<Engine['resource']> => engine.resource(step.command.key);
      const elapsed = elapsedOf(step, resource(), now);
      if (elapsed < 0) this.#count('clock stepped back');
      now += elapsed;
      for (const { key, part } of step.lost ?? []) {
        this.#countLoss(part, engine.resource(key));
        if (part === 'record') engine.forget(key);
      }
      const command = commandOf(step, resource(), tickets);
      const several = command.op === 'renew' && step.again;
      const all = several && renewalOfAll(step, command, (key) => engine.resource(key));
      apply(all || command, step.lost);
    }
    // The command creates lost keys again. It also moves the expiries of the keys.
    const retention = 86_400_000;
    const lossy = steps.some(({ lost = [] }) => lost.length > 0);
    for (const key of lossy ? KEYS : [])
      apply({ op: 'poll', key, ids: [], patience: 1e6, retention });
    for (const key of KEYS) apply({ op: 'inspect', key, limit: 1000 });
    return { sent, pushes, states: KEYS.map((key) => dumpOf(engine.resource(key))) };
  }

  /** Counts the state in which a command arrives. */
  #countState(command: Command, resource: Resource | undefined, now: number): void {
    if (resource === undefined) return;
    if (resource.used > resource.capacity) this.#count('held beyond a lowered capacity');
    if (command.op === 'resize') {
      const weight = resource.holders.get(resource.holds.get(command.id) ?? command.id)?.weight;
      if (weight !== undefined && command.weight > weight) this.#count('resize to more');
      if (weight !== undefined && command.weight < weight) this.#count('resize to less');
    }
    for (const { until } of resource.processes.all.values()) {
      if (until === 1) this.#count('a process let a claim lapse');
      else if (until !== 0 && until <= now) this.#count('a process is silent');
    }
    for (const waiter of resource.waiters.values()) {
      if (waiter.weight > resource.capacity) this.#count('hopeless in the queue');
    }
  }

  #countLoss(part: Loss['part'], resource: Resource | undefined): void {
    if (resource === undefined) return;
    const { queue, expiries } = resource;
    if (part === 'record') this.#count('lost record');
    if (part === 'queue' && queue.size > 0) this.#count('lost queue');
    if (part === 'expiries' && expiries.size > 1) this.#count('lost expiries');
  }

  #countReply(command: Command, reply: Reply, fenceBefore: number): void {
    this.#count(`${command.op} ${reply.status}`);
    if ('signalled' in reply && reply.signalled) this.#count('brought by a signal');
    if (reply.status === 'granted') {
      if (reply.holds > 1) this.#count('holds of one owner');
      if (reply.handOffs > 0) this.#count('passes given');
      if (reply.fence <= fenceBefore) this.#count('grant repeated or joined');
      if (reply.fence > reply.now && reply.fence > fenceBefore) this.#count('fence above the time');
    } else if (reply.status === 'queued' && 'ahead' in reply) {
      this.#count(reply.ahead === '' ? 'queued behind no known id' : 'queued behind an id');
    } else if (reply.status === 'polled') {
      for (const { status } of reply.standings) this.#count(`poll standing ${status}`);
    } else if (reply.status === 'signalled') {
      this.#count(`signalled ${Math.min(reply.woken, 2)}`);
    } else if (command.op === 'turn' && 'again' in reply) {
      this.#count(`turn again ${reply.again.status}`);
    } else if (reply.status === 'forced') {
      this.#count(`forced ${Math.min(reply.ended.length, 2)}`);
    }
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** Pushes use another connection than replies. Resolves when all pushes of a sequence arrived. */
  #heardOf(sequence: string): Promise<void> {
    return new Promise((resolve) => {
      this.#synced = (prefix) => {
        if (prefix === sequence) resolve();
      };
    });
  }
}

/** Every second acquisition, release and inspection is sent with a call for several mutexes. */
function isOfSeveral(command: Command, index: number): command is Short {
  return index % 2 === 1 && command.op !== 'renewMany' && isShort(command);
}

/** The keys and arguments of a command's script. */
function callOf(prefix: string, command: Command): Call {
  if (command.op !== 'renewMany') {
    return { keys: keysOf(prefix, command.key), args: encode(command) };
  }
  return { keys: command.keys.flatMap((key) => keysOf(prefix, key)), args: argsOf(command) };
}

function replyOf(command: Command, raw: unknown): Reply {
  return command.op === 'renewMany' ? renewalsOf(command, raw) : answerTo(command, raw);
}

function same(what: string, actual: unknown, expected: unknown): void {
  const [a, e] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))];
  if (a !== e) throw new Error(`${what}\n  Lua        ${a}\n  TypeScript ${e}`);
}

/** The same fields in the same order on both sides. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
