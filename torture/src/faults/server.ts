/** What happens to the server without its forgetting anything. */
import { Redis } from 'ioredis';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import { serverMicros } from '../stage.js';
import { type Fault, mainFault, type Scene } from './fault.js';
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

/** A subscriber of all channels, as a monitoring tool is one. */
const listened: Fault = {
  kind: 'foreign subscriber of *',
  async run(scene, random) {
    const foreign = new Redis(scene.stage.main.url, { retryStrategy: () => null });
    foreign.on('error', () => undefined);
    try {
      await foreign.psubscribe('*');
    } catch {
      return false;
    }
    scene.begin(this.kind);
    await scene.sleep(between(random, 500, 4000));
    foreign.disconnect();
    scene.end(this.kind);
    return true;
  },
};

/** One command, once. */
function command(kind: string, words: readonly string[]): Fault {
  return {
    kind,
    async run(scene) {
      await scene.stage.main.command(...words);
      scene.once(kind);
      return true;
    },
  };
}

/** It saves every command before it answers: what it comes back with is what it had. */
const restarted: Fault = {
  kind: 'server killed, loads all',
  async run(scene, random) {
    const { main } = scene.stage;
    const args = await slowly(main, between(random, 50, 1500));
    scene.begin(this.kind);
    await main.kill();
    await main.restart({ args });
    scene.end(this.kind);
    return true;
  },
};

/** How far the servers' clock goes from the machine's; less than `retention`. */
const AHEAD_MS = 6000;

const forwards: Fault = {
  kind: 'clock forwards',
  async run(scene, random) {
    const { clock } = scene.stage;
    if (clock === undefined || clock.offset >= AHEAD_MS - 100) return false;
    const [from, t] = [serverMicros(scene.stage), monotonic()];
    const { offset } = clock;
    clock.step(between(random, offset + 50, AHEAD_MS));
    scene.once(this.kind, clock.offset - offset);
    // leases end early by the server's clock, and waiters still tell it by what it was: see
    // docs/guarantees.md
    const to = serverMicros(scene.stage) + 2000 * OPTIONS.claimWindow;
    scene.forget({ from, to, t });
    return true;
  },
};

const backwards: Fault = {
  kind: 'clock backwards',
  async run(scene, random) {
    const { clock } = scene.stage;
    if (clock === undefined || clock.offset < 100 || scene.clockIsBehind) return false;
    const { offset } = clock;
    const lowest = Math.max(0, scene.lostAt / 1000 - Date.now() + 10);
    if (lowest > offset - 50) return false;
    clock.step(between(random, lowest, offset - 50));
    scene.once(this.kind, clock.offset - offset);
    return true;
  },
};

/** Those that can be had with what there is. */
export function serverFaults({ stage }: Scene): Fault[] {
  return [
    ...[frozen, restarted, full, denied, paused, listened],
    command('SCRIPT FLUSH', ['SCRIPT', 'FLUSH']),
    command('CLIENT KILL', ['CLIENT', 'KILL', 'TYPE', 'normal']),
    command('CLIENT KILL of subscribers', ['CLIENT', 'KILL', 'TYPE', 'pubsub']),
    ...(stage.clock === undefined ? [] : [forwards, backwards]),
  ];
}
