/** Applies faults to the world, and ends them. */
import type { FaultPlan, Way } from '../plan/plan.js';
import type { Client } from './client.js';
import type { World } from './world.js';

/** Time for which the last messages of a slow network still have an effect. */
const AFTERMATH_MS = 5000;
/** After this, a server ends a connection whose other side is silent. */
const KEEPALIVE_MS = 30_000;

export class Mishaps {
  readonly #world: World;
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  happen(fault: FaultPlan): void {
    const { history, scheduler } = this.#world;
    const { at, ...fields } = fault;
    const phase = 'ms' in fault ? 'begin' : 'once';
    this.#count += 1;
    // the end of a fault has the same name as its start
    const name = `fault-${this.#count}`;
    history.note(scheduler.now, name, { e: 'fault', ...fields, phase });
    this.#do(fault);
    if (!('ms' in fault)) return;
    const end = (): void => {
      // one pause after another adds up
      const until = this.#pausedUntil(fault);
      if (until > scheduler.now) scheduler.at(until, end);
      else history.note(scheduler.now, name, { e: 'fault', kind: fault.kind, phase: 'end' });
    };
    scheduler.at(at + fault.ms, end);
  }

  #pausedUntil(fault: FaultPlan): number {
    const { clients, machines, server } = this.#world;
    if (fault.kind === 'stop') return clients.get(fault.process)?.process.time ?? 0;
    if (fault.kind === 'sleep') return machines.get(fault.machine)?.asleepUntil ?? 0;
    return fault.kind === 'stop-server' ? server.busyUntil : 0;
  }

  /** From now on everything works. */
  calm(): void {
    const { paths, plan } = this.#world;
    const network = { ...plan.network, doubled: 0, lost: 0, spikes: 0, loose: false };
    for (const { up, down } of paths.values()) {
      for (const path of [up, down]) {
        path.heal();
        path.slowness = 1;
        path.network = network;
      }
    }
    if (plan.network.lost > 0) this.#disturbAll(AFTERMATH_MS);
  }

  /** A clock that is set before all programs have seen it can hide that the machine slept. */
  #hidesSuspend(name: string): boolean {
    const { asleepUntil = 0 } = this.#world.machines.get(name) ?? {};
    const { scheduler, clients } = this.#world;
    if (asleepUntil > scheduler.now) return true;
    return [...clients.values()].some(({ process }) => {
      return process.alive && process.machine.name === name && process.readAt < asleepUntil;
    });
  }

  #do(fault: FaultPlan): void {
    const { scheduler, machines, server } = this.#world;
    switch (fault.kind) {
      case 'stop':
        return this.#with(fault.process, ({ process }) => process.stop(fault.ms));
      case 'crash':
        return this.#crash(fault);
      case 'close':
        return this.#with(fault.process, (client) => this.#close(client, fault.grace));
      case 'sleep':
        return this.#sleep(fault.machine, fault.ms);
      case 'set-clock':
        if (this.#hidesSuspend(fault.machine)) return undefined;
        if (!machines.has(fault.machine)) this.#world.serverSetAt = scheduler.now;
        (machines.get(fault.machine) ?? server.machine).stepWall(fault.step);
        return undefined;
      case 'drift':
        machines.get(fault.machine)?.setRate(scheduler.now, fault.rate);
        return undefined;
      case 'cut':
        return this.#cut(fault.machine, fault.way, fault.ms);
      case 'slow':
        return this.#slow(fault);
      case 'reset':
        return this.#reset(fault);
      case 'restart':
        return this.#restart(fault);
      case 'mute':
        return this.#with(fault.process, (client) => this.#mute(client, fault.ms));
      case 'confuse':
        return this.#with(fault.process, (client) => this.#confuse(client, fault.ms));
      case 'stop-server':
        server.stop(fault.ms);
        return this.#disturbAll(fault.ms + AFTERMATH_MS);
      case 'forget':
        this.#world.watch.forget(fault.key);
        this.#world.promises.forget(fault.key);
        return server.forget(fault.key);
      case 'refuse':
        return this.#refuse(fault);
    }
  }

  /** One suspend during another adds to it. */
  #sleep(name: string, ms: number): void {
    const { now } = this.#world.scheduler;
    const machine = this.#world.machines.get(name);
    machine?.sleep(now, ms);
    this.#disturb(name, Math.max(ms, (machine?.asleepUntil ?? now) - now));
  }

  #with(name: string, act: (client: Client) => void): void {
    const client = this.#world.clients.get(name);
    if (client?.process.alive) act(client);
  }

  #crash(fault: FaultPlan & { kind: 'crash' }): void {
    const { scheduler } = this.#world;
    this.#with(fault.process, (client) => {
      this.#world.kill(client, fault.silent ? KEEPALIVE_MS : 1);
      if (fault.restarts) scheduler.after(fault.ms, () => this.#world.start(client.plan));
    });
  }

  /** Closes the library, ends the process, and starts it again. */
  #close(client: Client, grace: number | undefined): void {
    const { scheduler, plan } = this.#world;
    if (client.closing) return;
    client.closing = true;
    client.process.deliver('task', () => {
      const since = scheduler.now;
      void client.holdfast.close(grace === undefined ? {} : { grace }).then(() => {
        const { nextTimer } = client.process;
        if (client.clearSince < since) this.#world.watch.closed(client);
        // requests in flight at the end have their own deadline
        client.process.later(1.05 * client.plan.options.requestTimeout + 50, () => {
          // releases after that have one too
          this.#world.leftovers(client, nextTimer);
          this.#world.kill(client, 1);
          if (scheduler.now < plan.calm) this.#world.start(client.plan);
        });
      });
    });
  }

  #cut(machine: string, way: Way, ms: number): void {
    const paths = this.#world.paths.get(machine);
    const until = this.#world.scheduler.now + ms;
    if (way !== 'down') paths?.up.cut(until);
    if (way !== 'up') paths?.down.cut(until);
    this.#disturb(machine, ms + AFTERMATH_MS);
  }

  #slow(fault: FaultPlan & { kind: 'slow' }): void {
    const { paths, plan, scheduler } = this.#world;
    const own = paths.get(fault.machine);
    if (own === undefined) return;
    const factor = Math.max(1, Math.min(fault.factor, 2000 / plan.network.latency));
    for (const path of [own.up, own.down]) path.slowness = factor;
    scheduler.after(fault.ms, () => {
      for (const path of [own.up, own.down]) path.slowness = 1;
    });
    this.#disturb(fault.machine, fault.ms + 3 * AFTERMATH_MS);
  }

  #reset(fault: FaultPlan & { kind: 'reset' }): void {
    this.#with(fault.process, ({ process, redis }) => {
      process.disturb(this.#world.scheduler.now + fault.unnoticed);
      // what waits for a cut to end would be delivered later than any copy is given back
      const up = this.#world.paths.get(process.machine.name)?.up;
      const isCut = (up?.cutUntil ?? 0) > this.#world.scheduler.now;
      const lingers = isCut ? 0 : fault.lingers;
      for (const connection of redis.connections) {
        const pushes = connection.name.includes('/s');
        if (fault.which === (pushes ? 'commands' : 'pushes')) continue;
        connection.reset(fault.unnoticed, 1, lingers);
      }
    });
  }

  /** Replies on the present connection are lost. Then both sides learn that it is broken. */
  #mute({ process, redis }: Client, ms: number): void {
    const { commands } = redis;
    if (commands === undefined) return;
    commands.muted = true;
    process.mute(this.#world.scheduler.now + ms + AFTERMATH_MS);
    this.#world.scheduler.after(ms, () => commands.reset(1, 1, 0));
  }

  /** The client is out of step, and then its connection ends. */
  #confuse({ process, redis }: Client, ms: number): void {
    const { commands } = redis;
    if (commands === undefined) return;
    redis.confuse();
    process.mute(this.#world.scheduler.now + ms + AFTERMATH_MS);
    this.#world.scheduler.after(ms, () => commands.reset(1, 1, 0));
  }

  #restart(fault: FaultPlan & { kind: 'restart' }): void {
    const { scheduler, server, watch, promises, history } = this.#world;
    if (!server.up) return;
    server.crash(1000);
    this.#disturbAll(fault.ms + AFTERMATH_MS);
    scheduler.after(fault.ms, () => {
      if (fault.memory !== 'keeps') {
        watch.amnesia();
        promises.amnesia();
        history.note(scheduler.now, '-', { e: 'amnesia' });
      }
      server.start(fault.memory, fault.ms + fault.lag);
    });
  }

  #refuse(fault: FaultPlan & { kind: 'refuse' }): void {
    const { scheduler, server } = this.#world;
    server.refuses = fault.answer;
    this.#disturbAll(fault.ms + AFTERMATH_MS);
    scheduler.after(fault.ms, () => {
      if (server.refuses === fault.answer) server.refuses = undefined;
    });
  }

  #disturb(machine: string, ms: number): void {
    this.#world.disturb(machine, this.#world.scheduler.now + ms);
  }

  #disturbAll(ms: number): void {
    for (const machine of this.#world.machines.keys()) this.#disturb(machine, ms);
  }
}
