/**
 * Sends the same commands at the same times to the gates of the TypeScript engine and to their Lua
 * scripts. Compares every reply and every push, and the stored state after each sequence. Works
 * like `differential.ts`, for scripts with other keys.
 */
import type { Redis } from 'ioredis';
import { loadScript } from '../../../../tools/lua.mjs';
import { Engine } from '../../src/engine/engine.js';
import type { Gate } from '../../src/engine/gate.js';
import type { GateCommand, GatePush, GateReply } from '../../src/engine/commands.js';
import { decodePush } from '../../src/store/push-text.js';
import { answerTo, encode } from '../../src/store/redis/codec.js';
import { gateKeysOf } from '../../src/store/redis/keys.js';
import { answerAt, FOLDER, proofOf, type Scripts, scriptOf } from './differential.js';
import { GATE_PARTS, type GateLoss, lose, type LossyGateStep } from './gate-loss.js';
import { GATE_KEYS, gateCommandOf, LIVE_CHANNELS } from './gate-traffic.js';

const VIRTUAL_CLOCK = 'local now = tonumber(KEYS[5])\n';
const OPS = ['arrive', 'watch', 'endGeneration'] as const;
/** The short paths of the scripts. */
const SHORT: Record<string, string> = { watch: 'short/stay.lua' };
const SYNC = 'gate-differential-sync';

/** The complete stored state of a gate in one format for both sides. */
const DUMP = `
local record = redis.call('HGETALL', KEYS[1])
if #record == 0 then return 'null' end
local summary, channels = nil, {}
for at = 1, #record, 2 do
  if record[at] == 's' then
    summary = { cmsgpack.unpack(record[at + 1]) }
  else
    channels[#channels + 1] = string.sub(record[at], 3) .. '=' .. record[at + 1]
  end
end
table.sort(channels)
for at, one in ipairs(summary) do
  summary[at] = type(one) == 'number' and string.format('%.0f', one) or one
end
local function sorted(list)
  local pairs = {}
  for at = 1, #list, 2 do
    pairs[#pairs + 1] = list[at] .. ' ' .. string.format('%.0f', tonumber(list[at + 1]))
  end
  table.sort(pairs)
  return table.concat(pairs, ',')
end
local ends = {}
for at = 1, 4 do ends[at] = redis.call('PEXPIRETIME', KEYS[at]) end
return cjson.encode({
  summary = table.concat(summary, ' '), channels = table.concat(channels, ' '),
  arrivals = sorted(redis.call('HGETALL', KEYS[2])), past = sorted(redis.call('HGETALL', KEYS[3])),
  expiries = sorted(redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')), ends = ends,
})
`;

function dumpOf(gate: Gate | undefined): object | null {
  if (gate === undefined) return null;
  const { kind, count, generation, since, missing, endsAt, retention, pastGeneration } = gate;
  const broken = gate.broken.flatMap((one) => [one.generation, one.reason]);
  const list = (map: Iterable<readonly [string, number]>): string =>
    [...map]
      .map(([id, value]) => `${id} ${value}`)
      .sort()
      .join(',');
  const expiries = gate.expiries.first(gate.expiries.size);
  const end = Math.floor(gate.forgetAt / 1000);
  const endOf = (size: number): number => (size === 0 ? -2 : end);
  const sizes = [gate.arrivals.size, gate.past.size];
  const counts = [generation, since, missing, endsAt, retention, pastGeneration];
  const head = [kind, count, ...counts, ...sizes];
  return {
    summary: [...head, ...broken].join(' '),
    channels: [...gate.channels]
      .map((one) => one.join('='))
      .sort()
      .join(' '),
    arrivals: list(gate.arrivals),
    past: list(gate.past),
    expiries: list(expiries.map((id) => [id, gate.expiries.score(id) as number])),
    ends: [end, endOf(gate.arrivals.size), endOf(gate.past.size), endOf(expiries.length)],
  };
}

/** Loads the scripts with a virtual clock into a server. `replace` changes the text of files. */
export async function loadGateScripts(
  redis: Redis,
  replace: Record<string, string> = {},
): Promise<Scripts> {
  const scripts: Record<string, { sha: string; source: string }> = {};
  for (const op of OPS) {
    const script = scriptOf(op);
    const own = Object.fromEntries(
      Object.entries(replace).filter(
        ([file]) => file.startsWith('lib/') || file === (file.includes('/') ? SHORT[op] : script),
      ),
    );
    const { source } = loadScript(`${FOLDER}${script}`, {
      replace: { 'lib/clock.lua': VIRTUAL_CLOCK, ...own },
    });
    scripts[op] = { source, sha: (await redis.script('LOAD', source)) as string };
  }
  return scripts;
}

interface Sent {
  readonly command: GateCommand;
  readonly now: number;
  readonly reply: GateReply;
  readonly lost: readonly GateLoss[];
}

let sequences = 0;

function look(key: string): GateCommand {
  const about = { key, kind: 'latch', count: 0, generation: 0, ids: [], ttl: 1000 } as const;
  return { op: 'watch', ...about, channel: '', token: '', retention: 1000 };
}

export class GateDifferential {
  operations = 0;
  /** How often each case occurred. */
  readonly seen: Map<string, number> = new Map();
  readonly #redis: Redis;
  readonly #scripts: Scripts;
  readonly #heard: [string, unknown][] = [];
  #synced: (prefix: string) => void = () => undefined;

  constructor(redis: Redis, scripts: Scripts) {
    this.#redis = redis;
    this.#scripts = scripts;
  }

  /** Subscribes to the live channels. Must be called before the first sequence. */
  async listen(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel: string, payload: string) => {
      if (channel === SYNC) this.#synced(payload);
      else this.#heard.push([channel, decodePush(payload)]);
    });
    await subscriber.subscribe(SYNC, ...LIVE_CHANNELS);
  }

  /** Runs one sequence on both sides. Throws at the first difference. */
  async run(steps: readonly LossyGateStep[]): Promise<void> {
    const prefix = `g${process.pid}-${sequences++}:`;
    const engine = new Engine(() => 1);
    const { sent, pushes } = this.#expect(engine, steps);
    this.#heard.length = 0;
    const pipeline = this.#redis.pipeline();
    const places: number[] = [];
    for (const { command, now, lost } of sent) {
      for (const { key, part } of lost) {
        pipeline.del(gateKeysOf(prefix, key)[GATE_PARTS.indexOf(part)] as string);
      }
      places.push(pipeline.length);
      const { sha } = this.#scripts[command.op] as { sha: string };
      const [keys, proof] = [gateKeysOf(prefix, command.key), proofOf(pipeline.length)];
      pipeline.evalsha(sha, 5, ...keys, `${now}`, ...encode(command), proof);
    }
    for (const key of GATE_KEYS) pipeline.eval(DUMP, 4, ...gateKeysOf(prefix, key));
    pipeline.publish(SYNC, prefix);
    const heard = new Promise<void>((resolve) => {
      this.#synced = (sequence) => {
        if (sequence === prefix) resolve();
      };
    });
    const answers = (await pipeline.exec()) as [Error | null, unknown][];
    await heard;
    for (const [index, { command, reply }] of sent.entries()) {
      const place = places[index] as number;
      const [error, raw] = answers[place] as [Error | null, unknown];
      const what = `reply to step ${index} ${JSON.stringify(command)}`;
      if (error !== null) throw new Error(`${what}: ${error.message}`, { cause: error });
      same(what, answerTo(command, answerAt(place, raw)), reply);
    }
    same('pushes', this.#heard, pushes);
    for (const [index, key] of GATE_KEYS.entries()) {
      const [error, raw] = answers.at(index - GATE_KEYS.length - 1) as [Error | null, string];
      if (error !== null) throw error;
      same(`state of ${key}`, JSON.parse(raw), dumpOf(engine.gates.get(key)));
    }
  }

  #expect(engine: Engine, steps: readonly LossyGateStep[]): { sent: Sent[]; pushes: unknown[] } {
    const sent: Sent[] = [];
    const pushes: [string, GatePush][] = [];
    // Far in the future, so that the server never expires the keys itself.
    let now = (Date.now() + 86_400_000) * 1000;
    const apply = (command: GateCommand, lost: readonly GateLoss[]): void => {
      const outcome = engine.apply(command, now);
      for (const { channel, push } of outcome.pushes) {
        if (push.kind === 'gate') this.#count(`push ${push.fate} ${push.reason}`);
        if (LIVE_CHANNELS.includes(channel)) pushes.push([channel, push as GatePush]);
      }
      this.#countReply(command, outcome.reply);
      sent.push({ command, now, reply: outcome.reply, lost });
    };
    for (const step of steps) {
      const lost = step.lost ?? [];
      // callers know the generation from before a loss
      const known = engine.gates.get(step.command.key);
      for (const one of lost) if (lose(engine, one)) this.#count(`lost ${one.part}`);
      const gate = engine.gates.get(step.command.key);
      now += step.elapsed === 'to the next due time' ? (gate?.next(now) ?? 0) : step.elapsed;
      apply(gateCommandOf(step, gate ?? known), lost);
    }
    // The command acts on the lost keys.
    for (const key of GATE_KEYS) apply(look(key), []);
    this.operations += sent.length;
    return { sent, pushes };
  }

  #countReply({ op, kind }: GateCommand, reply: GateReply): void {
    if (reply.status === 'other') this.#count(`${op} other`);
    else {
      this.#count(`${op} ${kind} ${reply.fate}`);
      if (op === 'arrive') this.#count(reply.rank < 0 ? 'not counted' : 'counted');
    }
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
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
