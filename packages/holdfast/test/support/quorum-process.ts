/** A process on a quorum in memory, with its links to the servers, for tests of single commands. */
import type { KeyCommand, Reply } from '../../src/engine/commands.js';
import type { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../src/store/quorum/quorum-register.js';
import { RegisterStore } from '../../src/store/register/register-store.js';
import { Link } from './lossy-link.js';
import { randomOf } from './seeded-random.js';
import type { VirtualClock } from './virtual-clock.js';

export const RETENTION_MS = 60_000;
/** The usual claim window, in ms. */
export const CLAIM_MS = 1000;

export const acquire = (id: string, channel: string): KeyCommand => ({
  ...{ op: 'acquire', key: 'k', id, owner: '', weight: 1, kind: 'mutex', capacity: 1 },
  ...{ ttl: 10_000, claim: CLAIM_MS, fair: false, handOffs: 0, channel, queue: true, ticket: 0 },
  ...{ waited: 0, tasks: 1, maxQueue: 100, patience: 1000, retention: RETENTION_MS },
  ...{ meta: '', token: id },
});

export interface QuorumProcess {
  readonly store: RegisterStore;
  readonly links: readonly Link[];
  /** Sends a command, and lets the time pass until its reply. */
  send(command: KeyCommand): Promise<Reply>;
}

/**
 * @param channel on which it listens
 * @param seed of its random numbers
 * @param prepared changes its links before they are used
 */
export async function quorumProcess(
  clock: VirtualClock,
  servers: readonly MemoryAcceptor[],
  channel: string,
  seed: number,
  prepared: (link: Link) => void = () => undefined,
): Promise<QuorumProcess> {
  const links = servers.map((server) => new Link(server));
  links.forEach(prepared);
  const fraction = randomOf(seed);
  const register = new QuorumRegister(links, {
    ...{ clock, fraction, timeout: 100, guard: 0, durable: true },
  });
  const nothing = (): void => undefined;
  const listener = { message: nothing, up: nothing, down: nothing };
  await clock.until(register.listen(channel, listener));
  const store = new RegisterStore(register, { clock, fraction });
  const send = (command: KeyCommand): Promise<Reply> => {
    const [reply] = store.execute([command]) as [Promise<Reply>];
    return clock.until(reply);
  };
  return { store, links, send };
}
