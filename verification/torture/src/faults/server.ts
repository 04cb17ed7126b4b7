/** Faults of the server that lose no data. */
import { Redis } from 'ioredis';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import { type Scenario, serverMicros } from '../scenario.js';
import { type Fault, mainFault, type FaultContext } from './fault.js';
import { slowly } from './loading.js';

const frozen = mainFault(
  'server frozen',
  [50, 2 * OPTIONS.ttl],
  ({ main }) => main.pause(),
  ({ main }) => main.resume(),
);

const full = mainFault(
  'memory full',
  [100, 1500],
  ({ main }) => main.command('CONFIG', 'SET', 'maxmemory', 1),
  ({ main }) => main.command('CONFIG', 'SET', 'maxmemory', 0),
);

const DENIALS = [
  ['-evalsha', '-eval'],
  ['-publish'],
  ['-subscribe'],
  ['resetchannels'],
  ['resetkeys'],
  ['-pexpireat'],
];

const denied = mainFault(
  'permission denied',
  [100, 1500],
  ({ main }, random) => main.command('ACL', 'SETUSER', 'default', ...pick(random, DENIALS)),
  ({ main }) => main.command('ACL', 'SETUSER', 'default', '+@all', 'allkeys', 'allchannels'),
);

const paused = mainFault(
  'clients paused',
  [50, 1000],
  ({ main }, random, ms) =>
    main.command('CLIENT', 'PAUSE', Math.ceil(ms), pick(random, ['WRITE', 'ALL'])),
  () => undefined,
);

/** A subscriber of all channels, such as a monitoring tool. */
const subscribed: Fault = {
  kind: 'foreign subscriber of *',
  async run(context, random) {
    const foreign = new Redis(context.scenario.main.url, { retryStrategy: () => null });
    foreign.on('error', () => undefined);
    try {
      await foreign.psubscribe('*');
    } catch {
      return false;
    }
    context.begin(this.kind);
    await context.sleep(between(random, 500, 4000));
    foreign.disconnect();
    context.end(this.kind);
    return true;
  },
};

/** A fault that is one command. */
function command(kind: string, words: readonly string[]): Fault {
  return {
    kind,
    async run(context) {
      await context.scenario.main.command(...words);
      context.once(kind);
      return true;
    },
  };
}

/** The server saves every command before it answers, so it restarts with all its data. */
const restarted: Fault = {
  kind: 'server killed, loads all',
  async run(context, random) {
    const { main } = context.scenario;
    const args = await slowly(main, between(random, 50, 1500));
    context.begin(this.kind);
    await main.kill();
    await main.restart({ args });
    context.end(this.kind);
    return true;
  },
};

/** How far the clock of the servers may be ahead of the machine; less than `retention`. */
const AHEAD_MS = 6000;

const forwards: Fault<Scenario> = {
  kind: 'clock forwards',
  async run(context, random) {
    const { clock } = context.scenario;
    if (clock === undefined || clock.offset >= AHEAD_MS - 100) return false;
    const [from, t] = [serverMicros(context.scenario), monotonic()];
    const { offset } = clock;
    clock.step(between(random, offset + 50, AHEAD_MS));
    context.once(this.kind, clock.offset - offset);
    // leases end early on the server, and waiters still estimate its clock without the step: see
    // docs/guarantees.md
    const to = serverMicros(context.scenario) + 2000 * OPTIONS.claimWindow;
    context.noteAmnesia({ from, to, t });
    return true;
  },
};

const backwards: Fault<Scenario> = {
  kind: 'clock backwards',
  async run(context, random) {
    const { clock } = context.scenario;
    if (clock === undefined || clock.offset < 100 || context.clockIsBehind) return false;
    const { offset } = clock;
    const lowest = Math.max(0, context.lostAt / 1000 - Date.now() + 10);
    if (lowest > offset - 50) return false;
    clock.step(between(random, lowest, offset - 50));
    context.once(this.kind, clock.offset - offset);
    return true;
  },
};

/** The faults of the clock of a store, if it can be stepped. */
export function clockFaults({ clock }: Pick<Scenario, 'clock'>): Fault<Scenario>[] {
  return clock === undefined ? [] : [forwards, backwards];
}

/** The faults that are possible on this machine. */
export function serverFaults({ scenario }: Pick<FaultContext, 'scenario'>): Fault[] {
  return [
    ...[frozen, restarted, full, denied, paused, subscribed],
    command('SCRIPT FLUSH', ['SCRIPT', 'FLUSH']),
    command('CLIENT KILL', ['CLIENT', 'KILL', 'TYPE', 'normal']),
    command('CLIENT KILL of subscribers', ['CLIENT', 'KILL', 'TYPE', 'pubsub']),
    ...clockFaults(scenario),
  ];
}
