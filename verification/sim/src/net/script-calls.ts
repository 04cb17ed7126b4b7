/**
 * The server's side of the script calls of the Redis store: the commands that a call contains, and
 * what its script would return for the engine's replies. The inverse of `store/redis/codec.ts`,
 * `several.ts` and `renewals.ts`; the differential test holds the scripts and the engine equal.
 */
import type { ScriptCall } from '../../../../packages/holdfast/dist/store/clients/port.js';
import type * as T from '../../../../packages/holdfast/dist/engine/commands.js';
import { kindOf, type LockKind, NUMBERS } from '../../../../packages/holdfast/dist/engine/kinds.js';

export type ScriptName = T.Op | 'acquireMany' | 'releaseMany' | 'inspectMany';

/** The resource of the name of a record. */
const keyOf = (name: string): string => name.slice(name.indexOf('{') + 1, name.lastIndexOf('}'));

/** The commands of a call, in the order of their execution. */
export function commandsOf(script: ScriptName, { keys, args }: ScriptCall): T.Command[] {
  if (script === 'acquireMany') {
    const [terms = '', meta = '', channel = '', own = '', ...ids] = args;
    const owns = own === '' ? [] : own.split(' ');
    return ids.map((id, at) => {
      const [, waited = '0', token = ''] = /^(\d+):(.*)$/s.exec(owns[at] ?? '0:') ?? [];
      const name = keyOf(keys[at] as string);
      return acquireOf(name, [id, terms, meta, channel, token, '0', waited]);
    });
  }
  if (script === 'releaseMany') {
    const [terms = '', ...ids] = args;
    return ids.map((id, at) => releaseOf(keyOf(keys[at] as string), [id, terms]));
  }
  if (script === 'inspectMany') {
    return keys.map((name) => ({ op: 'inspect', key: keyOf(name), limit: 1 }));
  }
  if (script === 'renewMany') {
    const [ttl, retention, , ...ids] = args;
    // either the main record of each resource, or all three
    const step = keys.length / ids.length;
    const of = ids.map((_, at) => keyOf(keys[at * step] as string));
    const numbers = { ttl: Number(ttl), retention: Number(retention) };
    return [{ op: 'renewMany', keys: of, ids, ...numbers }];
  }
  return [commandOf(script, keyOf(keys[0] as string), args)];
}

function commandOf(op: T.KeyCommand['op'], key: string, args: readonly string[]): T.KeyCommand {
  const [a = '', b = '', c = '', d = '', e = ''] = args;
  switch (op) {
    case 'acquire':
      return acquireOf(key, args);
    case 'release':
      return releaseOf(key, args);
    case 'turn':
      return turnOf(key, args);
    case 'renew': {
      const about = e === '' ? { channel: d } : { channel: d, tasks: Number(e) };
      return { op, key, id: a, ttl: Number(b), retention: Number(c), ...about };
    }
    case 'poll': {
      const numbers = { patience: Number(a), retention: Number(b), period: Number(c) };
      return { op, key, ...numbers, ids: args.slice(3) };
    }
    case 'forceRelease':
      return { op, key, id: a, retention: Number(b) };
    case 'inspect':
      return { op, key, limit: Number(a) };
    case 'park':
      return parkOf(key, args);
    case 'signal': {
      const numbers = { count: Number(c), seq: Number(d), retention: Number(e) };
      return { op, key, id: a, condition: b, ...numbers };
    }
    case 'resize':
      return { op, key, id: a, weight: Number(b), seq: Number(c), retention: Number(d) };
    case 'capacity':
      return { op, key, from: Number(a), capacity: Number(b), retention: Number(c) };
    case 'arrive':
    case 'watch':
    case 'endGeneration':
      return gateOf(op, args);
  }
}

function acquireOf(key: string, args: readonly string[]): T.Acquire {
  const [id = '', terms = '', meta = '', channel = '', token = '', ...more] = args;
  const [ticket = '0', waited = '0', owner = ''] = more;
  const [flags = '', ...numbers] = terms.split(' ');
  const [ttl = 0, retention = 0, handOffs = 0, tasks = 0, claim = 0, ...rest] = numbers.map(Number);
  const [maxQueue = 0, patience = 0, weight = 0, capacity = 0] = rest;
  return {
    ...{ op: 'acquire', key, id, owner, weight, capacity, ttl, claim, fair: flags[1] === '1' },
    ...{
      kind: kindOf(Number(flags[0])) as LockKind,
      handOffs,
      channel,
      token,
      queue: flags[2] === '1',
      ticket: Number(ticket),
    },
    ...{ waited: Number(waited), tasks, maxQueue, patience, retention, meta },
  };
}

function releaseOf(key: string, [id = '', terms = '']: readonly string[]): T.Release {
  const [unpassed, retention] = terms.split(' ');
  return { op: 'release', key, id, unpassed: unpassed === '1', retention: Number(retention) };
}

function turnOf(key: string, args: readonly string[]): T.Turn {
  const [id = '', fence, used, again = '', ttl, claim, handOffs, channel = '', ...rest] = args;
  const [waited, tasks, patience, retention, meta = '', token = '', fair, ticket = '0'] = rest;
  return {
    ...{ op: 'turn', key, id, fence: Number(fence), used: Number(used), again, ttl: Number(ttl) },
    ...{ claim: Number(claim), handOffs: Number(handOffs), channel, waited: Number(waited) },
    ...{ tasks: Number(tasks), patience: Number(patience), retention: Number(retention) },
    ...{ meta, token, fair: fair === '1', ticket: Number(ticket) },
  };
}

function parkOf(key: string, args: readonly string[]): T.Park {
  const [id = '', as = '', condition = '', want, ttl, claim, fair, channel = '', ...rest] = args;
  const [maxParked, patience, retention, meta = '', token = '', used] = rest;
  return {
    ...{ op: 'park', key, id, as, condition, want: want as T.Park['want'], ttl: Number(ttl) },
    ...{ claim: Number(claim), fair: fair === '1', channel, maxParked: Number(maxParked) },
    ...{ patience: Number(patience), retention: Number(retention), meta, token },
    ...{ used: Number(used) },
  };
}

function gateOf(op: T.GateCommand['op'], args: readonly string[]): T.GateCommand {
  const [key = '', kind, count, generation, ttl, retention, ...rest] = args;
  const head = {
    ...{ key, kind: kind as T.GateKind, count: Number(count), generation: Number(generation) },
    ...{ ttl: Number(ttl), retention: Number(retention) },
  };
  const [channel = '', token = '', ...ids] = rest;
  if (op === 'watch') return { op, ...head, channel, token, ids };
  if (op === 'endGeneration') return { op, ...head, reason: channel as T.BreakReason };
  return { op, ...head, channel, token, id: ids[0] ?? '', by: Number(ids[1]) };
}

/** What the script of a command returns for a reply of the engine. */
export function resultOf(op: T.KeyCommand['op'], reply: T.Reply): unknown[] {
  const { status } = reply;
  const rest = valuesOf(op, reply);
  const signalled = 'signalled' in reply ? [reply.signalled === true ? 1 : 0] : [];
  return [status, reply.now, ...rest, ...(op === 'park' ? signalled : [])];
}

function valuesOf(op: T.KeyCommand['op'], reply: T.Reply): unknown[] {
  switch (reply.status) {
    case 'granted':
      return standingOf(reply).slice(1);
    case 'queued':
      return [reply.ticket, reply.next, ...('ahead' in reply ? [reply.ahead] : [])];
    case 'refused':
      return 'fence' in reply ? [reply.fence, reply.left] : [reply.next];
    case 'full':
      return [reply.length];
    case 'mismatch':
    case 'changed':
      return [reply.capacity, kindNumber(reply.kind)];
    case 'conflict':
      return [reply.weight];
    case 'resized':
      return [reply.fence, reply.left];
    case 'freed':
    case 'absent':
      if ('again' in reply) return [standingOf(reply.again)];
      return 'holds' in reply ? [reply.holds] : [];
    case 'crowded':
    case 'shared':
    case 'kept':
    case 'dequeued':
      return [reply.holds];
    case 'signalled':
      return [reply.woken, reply.left];
    case 'renewed':
      return [reply.left];
    case 'forced':
      return [reply.left, ...reply.ended];
    case 'polled':
      return [reply.next, reply.standings.map(standingOf), reply.pause];
    case 'inspected':
      return inspectedOf(reply);
    case 'parked':
      return [];
    case 'gate': {
      const { generation, fate, reason, rank, sure, current, missing } = reply;
      const { next, count, waiting } = reply;
      const first = [generation, fate, reason, rank, sure ? 1 : 0, current, missing];
      return [...first, next, count, waiting];
    }
    case 'other':
      return [reply.kind, reply.count];
    case 'renewals':
      throw new Error(`the script ${op} returns no renewals`);
  }
}

const kindNumber = (kind: LockKind | ''): number => (kind === '' ? 0 : NUMBERS[kind]);

function standingOf(standing: T.Standing | T.Again): unknown[] {
  const { status } = standing;
  if (status === 'queued' && 'ticket' in standing) return [status, standing.ticket, standing.next];
  if (status !== 'granted') return [status];
  return [status, standing.fence, standing.left, standing.handOffs, standing.holds];
}

function inspectedOf(reply: T.InspectReply): unknown[] {
  const { capacity, used, fence, holderCount, waiterCount, parkedCount } = reply;
  const holders = reply.holders.map((one) => [
    ...[one.id, one.owner, one.weight, one.fence, one.handOffs, one.left, one.holds, one.tasks],
    ...[one.since, one.meta, one.ids],
  ]);
  const waiters = reply.waiters.map((one) => [
    ...[one.id, one.owner, one.weight, one.ticket, one.fair ? 1 : 0, one.tasks, one.meta],
  ]);
  const parked = reply.parked.map(({ id, owner, condition, since, meta }) => [
    ...[id, owner, condition, since, meta],
  ]);
  const counts = [kindNumber(reply.kind), capacity, used, fence, holderCount, waiterCount];
  return [...counts, holders, waiters, parkedCount, parked];
}
