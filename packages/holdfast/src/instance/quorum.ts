import { duration, flag, known } from '../base/checks.js';
import type { RedisClient } from '../store/clients/detect.js';
import { recognize } from '../store/clients/shape.js';
import { badOption, HoldfastError } from '../base/errors.js';
import type { HoldfastStore } from './holdfast-core.js';
import { PREFIX } from '../base/prefix.js';
import type { Examination, ExamineTerms } from '../store/finding.js';
import { LazyStore } from '../store/lazy-store.js';
import type { Store } from '../store/port.js';

/** They must be equal in all processes. */
export interface QuorumOptions {
  /**
   * The longest time to wait for one server, in ms; well below `claimWindow`. 10 to 60,000; default
   * 200.
   */
  readonly serverTimeout?: number | undefined;
  /**
   * How long a server does not vote after its start, in ms, when no other remembers how long leases
   * may last: at the first use, and after a restart of all servers. At least the longest ttl and
   * one request. 0 switches the guard off, which makes restarts unsafe. Up to 86,400,000; default
   * 60,000.
   */
  readonly restartGuard?: number | undefined;
  /**
   * True if no server loses an acknowledged write when it restarts (`appendonly yes` with
   * `appendfsync always`): it then votes right after its start. Default `false`.
   */
  readonly durable?: boolean | undefined;
  /**
   * The least validity of a new lease in ms: its ttl, less the time of the request and the drift of
   * clocks. A lease that is granted at once with less is released, and the call fails or tries
   * again as without an answer. Up to 86,400,000; default 0.
   */
  readonly minValidity?: number | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof QuorumOptions>([
  'serverTimeout',
  'restartGuard',
  'durable',
  'minValidity',
]);
const SERVERS_MIN = 3;
const SERVERS_MAX = 15;

/**
 * The store on several independent servers, of which a minority may fail. `new Holdfast([…])` uses
 * it with its default options.
 *
 * @param clients an odd number, one for each server; the libraries may be mixed
 * @throws HOLDFAST_BAD_OPTION if there are fewer than three clients, an even number, one of them
 *   twice, or something else; or if an option is not valid
 */
export function quorum(
  clients: readonly RedisClient[],
  options: QuorumOptions = {},
): HoldfastStore {
  return quorumStore(clients, options, 'clients');
}

export function quorumStore(clients: unknown, options: QuorumOptions, option: string): Store {
  checkClients(clients, option);
  known('options', options, OPTIONS);
  const settings = {
    timeout: duration('serverTimeout', options.serverTimeout, 200, 10, 60_000),
    guard: duration('restartGuard', options.restartGuard, 60_000, 0, 86_400_000),
    durable: flag('durable', options.durable, false),
    minValidity: duration('minValidity', options.minValidity, 0, 0, 86_400_000),
  };
  const load = async (prefix: string): Promise<Store> => {
    const [{ portOf }, { redisQuorum }] = await Promise.all([
      import('../store/clients/detect.js'),
      import('../store/quorum/redis-quorum.js'),
    ]);
    const ports = clients.map(portOf);
    const examined = async (terms: ExamineTerms): Promise<Examination> => {
      const { examine } = await import('../store/redis/doctor/examine.js');
      return examine({ ports, prefix, quorum: settings }, terms);
    };
    return Object.assign(redisQuorum({ ports, ...settings }, prefix), { examine: examined });
  };
  return new LazyStore({ label: 'quorum', acknowledges: false, clients, load }, PREFIX);
}

function checkClients(clients: unknown, option: string): asserts clients is readonly object[] {
  const expected = 'an odd number of clients, at least 3 and at most 15, one for each server';
  if (!Array.isArray(clients)) throw badOption(option, expected, clients);
  const { length } = clients;
  if (length % 2 === 0 || length < SERVERS_MIN || length > SERVERS_MAX) {
    const message =
      `Holdfast: option "${option}" must be ${expected}, not ${length}: a majority must agree, ` +
      'so an even number of servers tolerates no more failures than one server fewer';
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option });
  }
  for (const [at, client] of clients.entries()) {
    const name = `${option}[${at}]`;
    if (clients.indexOf(client) < at) throw badOption(name, 'another client', 'the same client');
    try {
      if (recognize(client).kind !== 'cluster') continue;
      throw new TypeError('it is a client of a cluster, and each member must be one server');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `Holdfast: ${name}: ${why}`;
      throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: name, cause: error });
    }
  }
}
