/** The gates of a store, and the commands on them. Every command first applies expiries. */
import { Gate } from './gate.js';
import type * as G from './gate-messages.js';
import type { CommandContext } from './serve.js';
import type { Micros } from './commands.js';

export class Gates {
  readonly #gates = new Map<string, Gate>();

  get size(): number {
    return this.#gates.size;
  }

  get(key: string): Gate | undefined {
    return this.#gates.get(key);
  }

  restore(key: string, gate: Gate): void {
    this.#gates.set(key, gate);
  }

  forget(key: string): void {
    this.#gates.delete(key);
  }

  sweep(now: Micros): void {
    for (const [key, gate] of this.#gates) if (gate.forgetAt <= now) this.#gates.delete(key);
  }

  apply(command: G.GateCommand, context: CommandContext): G.GateReply {
    const { now } = context;
    const { key } = command;
    if ((this.#gates.get(key)?.forgetAt ?? Infinity) <= now) this.#gates.delete(key);
    let gate = this.#gates.get(key);
    if (gate === undefined && command.op === 'watch' && command.count > 0) {
      gate = new Gate(key, command.kind, command.count, Math.max(now, context.floor + 1));
      gate.begin(command, now);
      this.#gates.set(key, gate);
    }
    if (gate === undefined) return none(now, command.generation);
    gate.breakExpired(context);
    if (gate.count === 0) revive(gate, command, now);
    else if (gate.kind !== command.kind) return other(gate, now);
    switch (command.op) {
      case 'arrive':
        return arrive(gate, command, context);
      case 'watch':
        return watch(gate, command, now);
      case 'endGeneration':
        return endGeneration(gate, command, context);
    }
  }
}

function revive(gate: Gate, command: G.GateCommand, now: Micros): void {
  if (command.op === 'endGeneration' || command.count === 0) return;
  if (command.generation === gate.generation || command.generation === 0) gate.begin(command, now);
}

function arrive(gate: Gate, command: G.Arrive, context: CommandContext): G.GateReply {
  const { generation, id, count } = command;
  const { now } = context;
  if (gate.fate(generation) === 'closed') {
    if (!suits(gate, count)) return other(gate, now);
    if (!gate.arrivals.has(id)) {
      gate.missing += count - gate.count;
      gate.count = count;
      gate.keep(command.retention);
      gate.arrive(context, id, command.by, command.ttl);
    }
    if (gate.fate(generation) === 'closed') gate.listen(command);
  }
  return status(gate, now, generation, id);
}

function watch(gate: Gate, command: G.Watch, now: Micros): G.GateReply {
  const generation = command.generation === 0 ? gate.generation : command.generation;
  if (generation === gate.generation && command.count > 0 && !suits(gate, command.count)) {
    return other(gate, now);
  }
  if (gate.fate(generation) === 'closed') {
    for (const id of command.ids) {
      if (gate.expiries.score(id) !== undefined) gate.extend(id, now + command.ttl * 1000);
    }
    gate.listen(command);
  }
  return status(gate, now, generation, '');
}

function endGeneration(gate: Gate, command: G.EndGeneration, context: CommandContext): G.GateReply {
  const { generation, reason, count } = command;
  const { now } = context;
  if (generation === gate.generation && gate.count > 0) {
    if (reason !== 'deleted' && !suits(gate, count)) return other(gate, now);
    gate.end(context, reason, count);
    gate.retention = command.retention;
    if (gate.kind === 'latch') gate.endsAt = now + command.ttl * 1000;
  }
  return status(gate, now, generation, '');
}

function suits(gate: Gate, count: number): boolean {
  return gate.count === count || (gate.kind === 'barrier' && gate.arrivals.size === 0);
}

function status(gate: Gate, now: Micros, generation: number, id: string): G.GateStatus {
  const { generation: current, missing, past, pastGeneration } = gate;
  const arrivals = generation === current ? gate.arrivals : past;
  const sure = generation === current || generation === pastGeneration;
  const rank = sure ? (arrivals.get(id) ?? -1) : -1;
  const fate = gate.fate(generation);
  return {
    ...{ status: 'gate', now, generation, fate },
    ...{ reason: gate.reasonOf(generation), rank, sure },
    ...{ current, missing, next: gate.next(now), count: gate.count },
    waiting: fate === 'closed' ? gate.channels.size : 0,
  };
}

function other({ kind, count }: Gate, now: Micros): G.GateOther {
  return { status: 'other', now, kind, count };
}

function none(now: Micros, generation: number): G.GateStatus {
  const about = { generation, fate: 'unknown', reason: '', rank: -1, sure: false } as const;
  return { status: 'gate', now, ...about, current: 0, missing: 0, next: 0, count: 0, waiting: 0 };
}
