/**
 * Faults of the servers of a quorum. At any time a majority of the servers has its memory and
 * votes, so nothing is excused: leases exclude each other, and fences grow, whatever fails.
 *
 * With `forgets`, a server that was restarted does not vote for a minute, with or without its
 * memory. It counts as away until it votes.
 */
import { rmSync } from 'node:fs';
import type { Server } from 'holdfast-testkit';
import { between, type Random } from 'holdfast-trials/support/random';
import { QUORUM_OPTIONS } from '../settings.js';
import { fill, type ServerScenario } from '../scenario.js';
import type { Fault, FaultContext } from './fault.js';
import { logFolder } from './loading.js';

/** The marker of a server, see `store/quorum/acceptor-script.ts`. */
const MARKER = 'holdfast:quorum';
/** How far the clock of one server may be off, in ms. */
const OFF_MS = 6000;

/** True if a server has a marker of its boot, and the time from which it votes has come. */
async function votes(server: Server): Promise<boolean> {
  const marker = (await server.command('HMGET', MARKER, 'r', 'v')) as (string | null)[];
  const [run, from] = marker;
  const info = String(await server.command('INFO', 'server'));
  // the time is that of the quorum, which is close to the clock of this machine
  return info.includes(`run_id:${run ?? '-'}`) && Number(from) <= (Date.now() - 100) * 1000;
}

/** Draws servers of which all may be away. Fewer than asked for if others are away already. */
async function draw(
  { scenario }: FaultContext<ServerScenario>,
  random: Random,
  most: number,
): Promise<Server[]> {
  const { members } = scenario;
  const voting = await Promise.all(members.map(votes));
  const spare = Math.floor((members.length - 1) / 2) - voting.filter((one) => !one).length;
  const able = members.filter((_, at) => voting[at]);
  const drawn = able.map((server) => ({ server, place: random() }));
  drawn.sort((a, b) => a.place - b.place);
  return drawn.slice(0, Math.max(0, Math.min(most, spare))).map(({ server }) => server);
}

/** A fault of some servers; it ends after a while. */
function memberFault(
  kind: string,
  most: number,
  longest: number,
  start: (server: Server) => unknown,
  stop: (server: Server) => unknown,
): Fault {
  return {
    kind,
    async run(context, random) {
      const servers = await draw(context, random, most);
      if (servers.length === 0) return false;
      context.begin(kind);
      try {
        await Promise.all(servers.map(start));
        await context.sleep(between(random, 50, longest));
      } finally {
        await Promise.all(servers.map(stop));
        context.end(kind);
      }
      return true;
    },
  };
}

/** A fault that ends at once. */
function momentary(kind: string, act: (server: Server, random: Random) => unknown): Fault {
  return {
    kind,
    async run(context, random) {
      const [server] = await draw(context, random, 1);
      if (server === undefined) return false;
      await act(server, random);
      context.once(kind);
      return true;
    },
  };
}

const words = (...of: string[]): ((server: Server) => unknown) => {
  return (server) => server.command(...of);
};

async function emptied(server: Server): Promise<void> {
  await server.kill();
  rmSync(logFolder(server), { recursive: true, force: true });
  await server.restart();
  await fill(server);
}

async function flushed(server: Server): Promise<void> {
  await server.command('FLUSHALL');
  await fill(server);
}

/** The clock of one server is wrong, in either direction. */
const stepped: Fault = {
  kind: 'wrong clock of one server',
  async run(context, random) {
    const { clock } = context.scenario;
    if (clock === undefined) return false;
    const { offset } = clock;
    clock.step(between(random, -OFF_MS, OFF_MS));
    context.once(this.kind, clock.offset - offset);
    return true;
  },
};

const LONG = 2 * QUORUM_OPTIONS.ttl;

const KEEPING: readonly Fault[] = [
  memberFault(
    'one server frozen',
    1,
    LONG,
    (one) => one.pause(),
    (one) => one.resume(),
  ),
  memberFault(
    'servers frozen',
    9,
    LONG,
    (one) => one.pause(),
    (one) => one.resume(),
  ),
  memberFault(
    'servers killed, load all',
    9,
    1500,
    (one) => one.kill(),
    (one) => one.restart(),
  ),
  memberFault(
    'memory of servers full',
    9,
    1500,
    words('CONFIG', 'SET', 'maxmemory', '1'),
    words('CONFIG', 'SET', 'maxmemory', '0'),
  ),
  memberFault(
    'permission denied by servers',
    9,
    1500,
    words('ACL', 'SETUSER', 'default', '-evalsha', '-eval'),
    words('ACL', 'SETUSER', 'default', '+@all'),
  ),
  momentary('SCRIPT FLUSH on one server', words('SCRIPT', 'FLUSH')),
  momentary('CLIENT KILL on one server', words('CLIENT', 'KILL', 'TYPE', 'normal')),
  stepped,
];

const FORGETTING: readonly Fault[] = [
  momentary('server killed, comes back empty', emptied),
  momentary('FLUSHALL on one server', flushed),
];

/** @param forgets true if servers may lose their memory */
export function quorumFaults(forgets: boolean): readonly Fault[] {
  return forgets ? [...KEEPING, ...FORGETTING] : KEEPING;
}
