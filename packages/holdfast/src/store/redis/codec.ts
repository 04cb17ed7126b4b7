/**
 * Encodes commands as arguments of scripts, in the order of each script's header, and decodes the
 * results. Some clients return numbers as text.
 */
import type * as T from '../../engine/commands.js';
import { kindOf, type LockKind, NUMBERS } from '../../engine/kinds.js';
import { handOffsAlone } from '../../engine/limits.js';
import { StoreFailure } from '../port.js';
import { encodeGate, GATE_OPS, gateReply } from './gate-codec.js';
import { inspected, listOf } from './view-codec.js';

export function encode(command: T.KeyCommand): string[] {
  switch (command.op) {
    case 'acquire':
      return encodeAcquire(command);
    case 'release':
      return encodeRelease(command);
    case 'turn':
      return encodeTurn(command);
    case 'renew':
      return encodeRenew(command);
    case 'poll':
      return encodePoll(command);
    case 'forceRelease':
      return [command.id, `${command.retention}`];
    case 'inspect':
      return [`${command.limit}`];
    case 'park':
      return encodePark(command);
    case 'signal': {
      const { id, condition, count, seq, retention } = command;
      return [id, condition, `${count}`, `${seq}`, `${retention}`];
    }
    case 'resize':
      return [command.id, `${command.weight}`, `${command.seq}`, `${command.retention}`];
    case 'capacity':
      return [`${command.from}`, `${command.capacity}`, `${command.retention}`];
    case 'arrive':
    case 'watch':
    case 'endGeneration':
      return encodeGate(command);
  }
}

function encodeRelease({ id, unpassed = false, retention }: T.Release): string[] {
  return [id, `${unpassed ? 1 : 0} ${retention}`];
}

function encodePoll({ patience, retention, period = 0, ids }: T.Poll): string[] {
  return [`${patience}`, `${retention}`, `${period}`, ...ids];
}

function encodeRenew({ id, ttl, retention, channel = '', tasks }: T.Renew): string[] {
  const words = [id, `${ttl}`, `${retention}`];
  if (tasks !== undefined) return [...words, channel, `${tasks}`];
  return channel === '' ? words : [...words, channel];
}

function encodePark(command: T.Park): string[] {
  return [
    command.id,
    command.as,
    command.condition,
    command.want,
    `${command.ttl}`,
    `${command.claim}`,
    command.fair ? '1' : '0',
    command.channel,
    `${command.maxParked}`,
    `${command.patience}`,
    `${command.retention}`,
    command.meta,
    command.token,
    `${command.used ?? 0}`,
  ];
}

function encodeTurn(command: T.Turn): string[] {
  const { fair = false, ticket = 0 } = command;
  return [
    command.id,
    `${command.fence}`,
    `${command.used}`,
    command.again,
    `${command.ttl}`,
    `${command.claim}`,
    `${command.handOffs}`,
    command.channel,
    `${command.waited}`,
    `${command.tasks}`,
    `${command.patience}`,
    `${command.retention}`,
    command.meta,
    command.token,
    ...(fair || ticket !== 0 ? [fair ? '1' : '0'] : []),
    ...(ticket === 0 ? [] : [`${ticket}`]),
  ];
}

/**
 * Most arguments share one word, and empty last ones are omitted: the number of words costs more
 * than their length.
 */
function encodeAcquire(command: T.Acquire): string[] {
  const { id, owner, weight, kind, capacity, ttl, claim, fair, handOffs, channel, queue } = command;
  const { ticket, maxQueue, patience, retention, meta, token, waited = 0, tasks = 0 } = command;
  const flags = `${NUMBERS[kind]}${fair ? 1 : 0}${queue ? 1 : 0}`;
  const all = [flags, ttl, retention, handOffs, tasks, claim, maxQueue, patience, weight, capacity];
  const terms = all.join(' ');
  if (owner !== '') return [id, terms, meta, channel, token, `${ticket}`, `${waited}`, owner];
  if (waited !== 0) return [id, terms, meta, channel, token, `${ticket}`, `${waited}`];
  if (ticket !== 0) return [id, terms, meta, channel, token, `${ticket}`];
  return channel === '' && token === '' ? [id, terms, meta] : [id, terms, meta, channel, token];
}

export function answerTo(command: T.KeyCommand, raw: unknown): T.Reply {
  if (raw === 'QUEUED') notQueued(raw);
  const isList = Array.isArray(raw);
  if (!isList && (command.op === 'acquire' || command.op === 'release')) {
    // mostly the time, which is also the fence
    const now = Number(raw);
    if (now > 0) return shortReply(command, now, now);
  }
  if (GATE_OPS.has(command.op)) return gateReply(raw);
  if (!isList) throw new TypeError(`Holdfast: the script ${command.op} did not return a list`);
  const reply = command.op === 'park' ? parkReply(raw) : decode(command.op, raw);
  return belonging(command.op as T.LockCommand['op'], reply);
}

/** A free mutex was taken, or the only lease was released. */
export function shortReply(command: T.Acquire | T.Release, now: number, fence: number): T.Reply {
  if (command.op === 'release') return { status: 'freed', now, holds: 0 };
  const { fair, handOffs: asked } = command;
  const handOffs = fair ? asked : handOffsAlone(asked);
  return { status: 'granted', now, fence, left: command.ttl * 1000, handOffs, holds: 1 };
}

function parkReply(list: readonly unknown[]): T.ParkReply {
  const status = String(list[0]);
  const now = Number(list[1]);
  switch (status) {
    case 'parked':
    case 'absent':
      return { status, now };
    case 'shared':
      return { status, now, holds: Number(list[2]) };
    case 'queued':
    case 'granted': {
      const reply = decode('park', list) as T.Queued | T.Granted;
      return { ...reply, signalled: Number(list.at(-1)) === 1 };
    }
    default:
      return decode('park', list) as T.Full;
  }
}

function decode(op: T.Op, list: readonly unknown[]): T.Reply {
  const status = String(list[0]);
  const now = Number(list[1]);
  const a = Number(list[2]);
  switch (status) {
    case 'granted':
      return {
        status,
        now,
        fence: a,
        left: Number(list[3]),
        handOffs: Number(list[4]),
        holds: Number(list[5]),
      };
    case 'queued':
      return op === 'acquire'
        ? queued(now, a, list)
        : { status, now, ticket: a, next: Number(list[3]) };
    case 'refused':
      if (op === 'resize') return { status, now, fence: a, left: Number(list[3]) };
      return { status, now, next: a };
    case 'full':
      return { status, now, length: a };
    case 'mismatch':
    case 'changed':
      return { status, now, capacity: a, kind: kindOf(Number(list[3])) as LockKind };
    case 'conflict':
      return { status, now, weight: a };
    case 'crowded':
      return { status, now, holds: a };
    case 'resized':
      return { status, now, fence: a, left: Number(list[3]) };
    case 'freed':
      if (op === 'turn') return { status, now, again: again(list[2], now) };
      return { status, now, holds: a };
    case 'kept':
    case 'dequeued':
      return { status, now, holds: a };
    case 'signalled':
      return { status, now, woken: a, left: Number(list[3]) };
    case 'absent':
      return op === 'turn' ? { status, now, again: again(list[2], now) } : absent(op, now);
    case 'renewed':
      return { status, now, left: a };
    case 'forced':
      return { status, now, ended: list.slice(3).map(String), left: a };
    case 'polled': {
      const standings = listOf(list[3]).map((one) => standing(one, now));
      return { status, now, next: a, standings, pause: Number(list[4]) };
    }
    case 'inspected':
      return inspected(now, list);
    default:
      throw new TypeError(`Holdfast: unknown result of the script ${op}: ${JSON.stringify(list)}`);
  }
}

function queued(now: number, ticket: number, list: readonly unknown[]): T.Queued {
  const reply = { status: 'queued', now, ticket, next: Number(list[3]) } as const;
  const hasNone = list[4] === undefined || list[4] === null;
  return hasNone ? reply : { ...reply, ahead: String(list[4]) };
}

function absent(op: T.Op, now: number): T.Reply {
  const status = 'absent';
  if (op === 'renew') return { status, now, left: 0 };
  if (op === 'signal') return { status, now, woken: 0, left: 0 };
  if (op === 'resize') return { status, now, fence: 0, left: 0 };
  if (op === 'capacity') return { status, now, capacity: 0, kind: '' };
  return { status, now, holds: 0 };
}

function again(raw: unknown, now: number): T.Again {
  const list = listOf(raw);
  const status = String(list[0]);
  if (status === 'queued') return { status, now, ticket: Number(list[1]), next: Number(list[2]) };
  return status === 'granted' ? granted(list, now) : { status: 'absent', now };
}

function standing(raw: unknown, now: number): T.Standing {
  const list = listOf(raw);
  const status = String(list[0]);
  if (status === 'queued' || status === 'parked') return { status };
  return status === 'granted' ? granted(list, now) : { status: 'absent' };
}

function granted(list: readonly unknown[], now: number): T.Granted {
  const [fence, left, handOffs, holds] = list.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return { status: 'granted', now, fence, left, handOffs, holds };
}

/**
 * The statuses that each script may return. A broken proxy may deliver another command's reply:
 * then the command counts as unanswered.
 */
type Statuses = { readonly [Op in T.LockCommand['op']]: readonly T.Replies[Op]['status'][] };

const STATUSES: Statuses = {
  acquire: ['granted', 'queued', 'refused', 'full', 'mismatch', 'conflict', 'crowded'],
  release: ['freed', 'kept', 'dequeued', 'absent'],
  turn: ['freed', 'absent'],
  renew: ['renewed', 'absent'],
  poll: ['polled'],
  inspect: ['inspected'],
  forceRelease: ['forced'],
  park: ['parked', 'queued', 'granted', 'shared', 'full', 'absent'],
  signal: ['signalled', 'absent'],
  resize: ['resized', 'refused', 'absent'],
  capacity: ['changed', 'mismatch', 'absent'],
};

function belonging(op: T.LockCommand['op'], reply: T.Reply): T.Reply {
  if ((STATUSES[op] as readonly string[]).includes(reply.status)) return reply;
  const message = `the reply "${reply.status}" does not belong to ${op}`;
  throw new StoreFailure(message, 'unanswered', undefined);
}

/** The server replies inside a user's transaction only at its end. */
export function notQueued(raw: unknown): unknown {
  if (raw !== 'QUEUED') return raw;
  const message =
    'the client is inside MULTI, so the command waits for its EXEC; ' +
    'give Holdfast a client that nothing else uses for transactions or blocking commands';
  throw new StoreFailure(message, 'refused', undefined);
}

/**
 * After a change of connection the client may have sent a release twice. The second finds nothing,
 * so the first one's result is unknown; so it is with an arrival at a generation that the gate
 * forgot.
 */
export function refuseTwice(reply: T.Reply, { op }: T.KeyCommand): void {
  const nothing = (op === 'release' || op === 'turn') && reply.status === 'absent';
  const late = op === 'arrive' && reply.status === 'gate' && reply.rank < 0 && !reply.sure;
  if (!nothing && !late) return;
  const message = 'the connection was replaced before the reply arrived';
  throw new StoreFailure(message, 'unanswered', undefined);
}
