/** A process with the library, from its start to its end. After a restart it is a new client. */
import type { Holdfast } from '../../../../packages/holdfast/dist/index.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Library } from '../library.js';
import { SimulatedClient } from '../net/client-port.js';
import type { Path } from '../net/path.js';
import type { Server } from '../net/server.js';
import type { ProcessPlan } from '../plan/plan.js';
import type { Machine } from './machine.js';
import { Process } from './process.js';

export interface ClientParts {
  readonly library: Library;
  readonly scheduler: Scheduler;
  readonly server: Server;
  readonly machine: Machine;
  readonly paths: { readonly up: Path; readonly down: Path };
  readonly random: Random;
  readonly trace: ((text: () => string) => void) | undefined;
}

export class Client {
  readonly name: string;
  readonly plan: ProcessPlan;
  readonly process: Process;
  readonly redis: SimulatedClient;
  readonly holdfast: Holdfast;
  closing = false;

  constructor(plan: ProcessPlan, life: number, parts: ClientParts) {
    const { library, scheduler, machine, server, paths, trace } = parts;
    this.plan = plan;
    this.name = life === 1 ? plan.name : `${plan.name}.${life}`;
    const random = parts.random.fork(this.name);
    const process = new Process(this.name, machine, scheduler, random.fork('timers'));
    const randomSource = random.fork('chance');
    const secret = random.fork('secret');
    const { requestTimeout: limit } = plan.options;
    const own = { random: random.fork('store'), habits: plan.habits, limit };
    this.process = process;
    this.redis = new SimulatedClient({ library, process, server, paths, trace, ...own });
    const store = new library.RedisStore(this.redis.port, '');
    // in a crowd, requests would wait for a turn of the real event loop
    this.holdfast = new library.Holdfast(Object.assign(store, { joins: false }), {
      ...plan.options,
      clock: process,
      longWait: Number.POSITIVE_INFINITY,
      randomSource: {
        id: () => this.name.replace('.', '-'),
        fraction: () => randomSource.next(),
        secret: () => secret.next().toString(36),
      },
    });
  }

  /** The time since which its requests have arrived in time. */
  get heardSince(): number {
    const { process } = this;
    return Math.max(process.heardSince, process.connectedSince);
  }

  /** The time since which it has not been disturbed. */
  get clearSince(): number {
    const { process } = this;
    return Math.max(process.undisturbedSince, process.connectedSince);
  }
}
