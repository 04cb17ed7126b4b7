/** The faults of a simulation, and their times. */
import type { Random } from '../base/random.js';
import type { Profile, Setting } from './generate.js';
import type { FaultKind, FaultPlan } from './plan.js';

/** The others are drawn together with their tasks, see `trouble.ts`. */
type Drawn = Exclude<FaultKind, 'forget' | 'mute' | 'confuse'>;

/** Sets of faults that may occur together: lost memory and a clock set back never do. */
const KINDS: Record<Exclude<Profile, 'calm'>, readonly Drawn[]> = {
  faults: [
    ...(['stop', 'stop', 'crash', 'crash', 'close', 'sleep', 'set-clock', 'drift'] as const),
    ...(['cut', 'cut', 'cut', 'slow', 'reset', 'reset', 'reset', 'restart'] as const),
    ...(['stop-server', 'refuse'] as const),
  ],
  loose: ['stop', 'crash', 'set-clock', 'cut', 'slow', 'reset', 'stop-server'],
  amnesia: ['stop', 'crash', 'cut', 'reset', 'restart', 'restart', 'restart', 'stop-server'],
};

export function faultsOf(setting: Setting, profile: Exclude<Profile, 'calm'>): FaultPlan[] {
  const random = setting.random.fork('faults');
  // a few frequent kinds of faults find more than all kinds at once
  const kinds = Array.from({ length: random.whole(1, 5) }, () => random.pick(KINDS[profile]));
  const count = random.whole(1, 20);
  const faults: FaultPlan[] = [];
  for (let index = 0; index < count; index++) {
    faults.push(fault(random.fork(index), setting, random.pick(kinds), profile));
  }
  return faults.sort((a, b) => a.at - b.at);
}

function fault(random: Random, setting: Setting, kind: Drawn, profile: Profile): FaultPlan {
  const at = random.next() * setting.busy;
  const ms = setting.ttl * random.spread(0.01, 4);
  const process = random.pick(setting.processes).name;
  const machine = random.pick(setting.machines).name;
  switch (kind) {
    case 'stop':
      return { kind, at, ms, process };
    case 'crash': {
      const silent = random.chance(0.3);
      return { kind, at, ms, process, silent, restarts: random.chance(0.7) };
    }
    case 'close':
      return { kind, at, process };
    case 'sleep':
      // a suspend below the detector's threshold is not detected
      return { kind, at, ms: 1100 + ms, machine };
    case 'set-clock':
      return setClock(random, at, machine);
    case 'drift':
      return { kind, at, machine, rate: 1 + random.between(-0.0045, 0.0045) };
    case 'cut':
      return { kind, at, ms, machine, way: random.pick(['up', 'down', 'both', 'both'] as const) };
    case 'slow':
      return { kind, at, ms, machine, factor: random.spread(2, 200) };
    case 'reset': {
      const which = random.pick(['all', 'commands', 'pushes'] as const);
      const lingers = random.chance(0.4) ? random.spread(1, 3000) : 0;
      const unnoticed = random.chance(0.2) ? random.spread(1, 2 * setting.ttl) : 1;
      return { kind, at, process, which, lingers, unnoticed };
    }
    case 'restart': {
      const memory = profile === 'amnesia' ? random.pick(['loses', 'replica'] as const) : 'keeps';
      return { kind, at, ms: Math.max(1, ms), memory, lag: random.spread(0.1, 2000) };
    }
    case 'stop-server':
      return { kind, at, ms: ms / 2 };
    case 'refuse':
      return { kind, at, ms, answer: random.pick(['LOADING', 'OOM', 'READONLY', 'BUSY']) };
  }
}

function setClock(random: Random, at: number, other: string): FaultPlan {
  // Not drawn: a server's clock that steps forward ends leases early, which is documented. One that
  // steps back by more than the retention may repeat a fence.
  const own = random.chance(0.5);
  const back = -random.spread(1, 10_000);
  const step = own ? back : random.pick([back, random.spread(1, 100_000)]);
  return { kind: 'set-clock', at, machine: own ? 'server' : other, step };
}
