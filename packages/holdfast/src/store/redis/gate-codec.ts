/** Encodes gate commands, and decodes their replies and pushes, see `codec.ts`. */
import type * as T from '../../engine/commands.js';

export const GATE_OPS: ReadonlySet<T.Op> = new Set<T.Op>(['arrive', 'watch', 'endGeneration']);

export function encodeGate(command: T.GateCommand): string[] {
  const { key, kind, count, generation, ttl, retention } = command;
  const head = [key, kind, `${count}`, `${generation}`, `${ttl}`, `${retention}`];
  switch (command.op) {
    case 'arrive':
      return [...head, command.channel, command.token, command.id, `${command.by}`];
    case 'watch':
      return [...head, command.channel, command.token, ...command.ids];
    case 'endGeneration':
      return [...head, command.reason];
  }
}

export function gateReply(raw: unknown): T.GateReply {
  if (Array.isArray(raw)) {
    const [status, now, ...rest] = raw as unknown[];
    if (String(status) === 'other') {
      const [kind, count] = rest;
      return { status: 'other', now: Number(now), kind: kindOf(kind), count: Number(count) };
    }
    if (String(status) === 'gate') return gateStatus(Number(now), rest);
  }
  throw new TypeError(`Holdfast: unknown result of a gate script: ${JSON.stringify(raw)}`);
}

function gateStatus(now: number, list: readonly unknown[]): T.GateStatus {
  const [generation, fate, reason, rank, sure, current, missing, next, count, waiting] = list;
  return {
    status: 'gate',
    now,
    generation: Number(generation),
    fate: String(fate) as T.Fate,
    reason: String(reason) as T.BreakReason | '',
    rank: Number(rank),
    sure: Number(sure) === 1,
    current: Number(current),
    missing: Number(missing),
    next: Number(next),
    count: Number(count),
    waiting: Number(waiting),
  };
}

function kindOf(value: unknown): T.GateKind {
  return String(value) === 'latch' ? 'latch' : 'barrier';
}
