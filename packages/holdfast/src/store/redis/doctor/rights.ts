/**
 * Tries each command as Holdfast sends it: in a script, on its own keys, which the script removes
 * in any case. A command that fails for another reason than a missing right counts as allowed.
 */
import { isMissingRight } from '../advice.js';
import type { ProbeNames } from './names.js';
import type { Probe } from './probe.js';

const SOURCE = `
local refused = {}
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do
    words[#words + 1] = word == '<1>' and KEYS[1] or word == '<2>' and KEYS[2] or word
  end
  local reply = redis.pcall(unpack(words))
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = line
    refused[#refused + 1] = reply.err
  end
end
return refused
`;

/** These are tried first, on keys that do not exist. */
const REMOVALS = ['DEL <1> <2>', 'HDEL <2> f', 'ZREM <1> f'];
const HASH = [
  'HSET <1> f 1',
  ...['HGET <1> f', 'HMGET <1> f', 'HGETALL <1>', 'HLEN <1>', 'HEXISTS <1> f', 'EXISTS <1>'],
  ...['PEXPIREAT <1> 9999999999999', 'RENAME <1> <2>', 'HDEL <2> f'],
];
const SORTED_SET = [
  'ZADD <1> 1 f',
  ...['ZCARD <1>', 'ZCOUNT <1> 0 1', 'ZRANGE <1> 0 1', 'ZRANK <1> f', 'ZREM <1> f'],
  'ZPOPMIN <1>',
];
const END = ['DEL <1> <2>', 'TIME'];
const QUORUM_HASH = [
  ...['HSET <2> f 1', 'HGET <2> f', 'HMGET <2> f', 'PTTL <2>', 'PEXPIRE <2> 60000', 'HDEL <2> f'],
  'INFO server',
];

/** What works without a right, more slowly or in part; without any other right, no lock does. */
const WITHOUT: Readonly<Record<string, string>> = {
  publish: 'waiters learn by polling only that a lock is free',
  spublish: 'waiters learn by polling only that a lock is free',
  subscribe: 'waiters learn by polling only that a lock is free',
  'pubsub|numsub': 'a waiter that died may delay its queue by one claim window',
  'pubsub|shardnumsub': 'a process that listens at a replica may take a lock of the next waiter',
  zpopmin: 'hand-overs take more time of the server',
  scan: 'list() does not work',
};

/** The commands in lower case; `pubsub|numsub` for a subcommand. */
export function triedCommands(quorum: boolean, cluster: boolean): string[] {
  const lines = [...linesOf(quorum), ...publishing(quorum, cluster, '')];
  return [...new Set([...lines.map(commandOf), 'eval', 'evalsha', 'scan', 'subscribe'])].sort();
}

function linesOf(quorum: boolean): string[] {
  if (quorum) return ['DEL <1> <2>', ...QUORUM_HASH, ...END];
  return [...REMOVALS, ...HASH, ...SORTED_SET, ...END];
}

function publishing(quorum: boolean, cluster: boolean, channel: string): string[] {
  if (quorum) return [`PUBLISH ${channel} -`];
  if (cluster) return [`SPUBLISH ${channel} -`, `PUBSUB SHARDNUMSUB ${channel}`];
  return [`PUBLISH ${channel} -`, `PUBSUB NUMSUB ${channel}`];
}

function commandOf(line: string): string {
  const [command = '', sub = ''] = line.toLowerCase().split(' ');
  return command === 'pubsub' ? `${command}|${sub}` : command;
}

/** False if no script can be executed, so nothing else is tried. */
export async function judgeRights(probe: Probe, names: ProbeNames): Promise<boolean> {
  const { cluster } = probe.port;
  const quorum = probe.deployment.quorum !== undefined;
  const first = await tryLines(probe, names, quorum ? ['DEL <1> <2>'] : REMOVALS);
  if (first === undefined) return false;
  const removes = (line: string): boolean => !first.some(([refused]) => refused === line);
  // nothing is written that could not be removed
  const all = removes('DEL <1> <2>');
  const lines = [
    ...(all || removes('HDEL <2> f') ? (quorum ? QUORUM_HASH : HASH) : []),
    ...(!quorum && (all || removes('ZREM <1> f')) ? SORTED_SET : []),
    ...publishing(quorum, cluster !== undefined, names.channel),
    ...END,
  ];
  const rest = (await tryLines(probe, names, lines)) ?? [];
  const refused = new Map([...first, ...rest].map(([line, why]) => [commandOf(line), why]));
  await tryDirectly(probe, refused);
  report(probe, refused);
  return true;
}

async function tryDirectly(probe: Probe, refused: Map<string, string>): Promise<void> {
  for (const words of [
    ['EVALSHA', '0'.repeat(40), '0'],
    ['SCAN', '0', 'COUNT', '1'],
  ]) {
    try {
      await probe.answer(probe.link.command(words));
    } catch (error) {
      const reply = probe.refusal(error);
      const name = (words[0] as string).toLowerCase();
      if (isRefusal(reply)) refused.set(name, reply);
    }
  }
}

type Refusals = (readonly [line: string, reply: string])[];

/** `undefined` if no script was executed. */
async function tryLines(
  probe: Probe,
  { keys }: ProbeNames,
  lines: readonly string[],
): Promise<Refusals | undefined> {
  try {
    const raw = await probe.answer(probe.port.eval(SOURCE, keys, lines));
    const list = (raw as unknown[]).map(String);
    return list
      .flatMap((line, at) => (at % 2 === 0 ? [[line, list[at + 1] as string] as const] : []))
      .filter(([, reply]) => isRefusal(reply));
  } catch (error) {
    const reply = probe.refusal(error);
    if (isRefusal(reply)) {
      const name = /\bkeys?\b/.test(reply) ? 'del' : 'eval';
      report(probe, new Map([[name, reply]]));
      return undefined;
    }
    probe.add({
      code: 'writes-fail',
      severity: 'danger',
      message: 'the server does not execute the scripts of locks',
      evidence: reply,
      advice: 'see docs/operations.md: "The server answers with an error"',
    });
    return undefined;
  }
}

function isRefusal(reply: string): boolean {
  return isMissingRight(reply) || /unknown (?:redis )?command/i.test(reply);
}

/** One finding a right; all keys count as one, and all channels. */
export function report(probe: Probe, refused: ReadonlyMap<string, string>): void {
  const { deployment, port } = probe;
  const patterns = new Map<string, [command: string, reply: string]>();
  for (const [command, reply] of refused) {
    let right = `+${command}`;
    if (/channel/.test(reply)) right = `&${deployment.prefix}wake:*`;
    else if (/\bkeys?\b/.test(reply)) right = `~${port.keyPrefix}${deployment.prefix}*`;
    if (!patterns.has(right)) patterns.set(right, [command, reply]);
  }
  for (const [right, [command, reply]] of patterns) {
    const without = WITHOUT[command];
    probe.add({
      code: 'missing-right',
      severity: without === undefined ? 'danger' : 'warning',
      message: without === undefined ? 'locks do not work without this right' : without,
      evidence: `${command.toUpperCase()}: ${reply}`,
      advice: isMissingRight(reply)
        ? `give the user of the client the right ${right}; SECURITY.md has all of them`
        : 'allow this command at the server, or use another server',
    });
  }
}
