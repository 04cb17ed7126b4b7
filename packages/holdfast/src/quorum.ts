/** The store on a quorum of servers, as users create it. */
import { checkObject, duration, flag, known } from './checks.js';
import { portFor, type RedisClient } from './clients/detect.js';
import type { ClientPort } from './clients/port.js';
import type { Command, Reply } from './engine/commands.js';
import { badOption, HoldfastError } from './errors.js';
import type { HoldfastStore } from './holdfast-core.js';
import { PREFIX } from './prefix.js';
import type { Examination, ExamineTerms } from './store/finding.js';
import type { ServerInfo } from './store/server-info.js';
import type { Store, TimeLimit, WakeChannel, WakeListener } from './store/port.js';

/** The options of a quorum. They must be equal in all processes. */
export interface QuorumOptions {
  /**
   * The longest time to wait for one server, in ms. Keep it well below `claimWindow`. 10 to 60,000;
   * default 200.
   */
  readonly serverTimeout?: number | undefined;
  /**
   * How long a server does not vote after its start, in ms, when no other server remembers how long
   * leases may last: at the first use, and after a restart of all servers. At least the longest ttl
   * and one request. 0 switches the guard off, which makes restarts unsafe. Up to 86,400,000;
   * default 60,000.
   */
  readonly restartGuard?: number | undefined;
  /**
   * True if no server loses an acknowledged write when it restarts (`appendonly yes` with
   * `appendfsync always`). Then a server votes right after its start. Default `false`.
   */
  readonly durable?: boolean | undefined;
  /**
   * The least validity of a new lease in ms: its ttl, less the time that the request took, and less
   * the drift of clocks. A lease that is granted at once with less is released, and the call fails
   * or tries again as without an answer. Up to 86,400,000; default 0.
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
 * @param clients an odd number of clients, one for each server; the libraries may be mixed
 * @throws HOLDFAST_BAD_OPTION if there are fewer than three clients, an even number of them, one of
 *   them twice, or something else than clients; or if an option is not valid
 */
export function quorum(
  clients: readonly RedisClient[],
  options: QuorumOptions = {},
): HoldfastStore {
  return quorumStore(clients, options, 'clients');
}

/** @param option the name of the first argument, for errors */
export function quorumStore(clients: unknown, options: QuorumOptions, option: string): Store {
  const ports = portsOf(clients, option);
  known('options', options, OPTIONS);
  checkObject('options', options);
  const settings = {
    ports,
    timeout: duration('serverTimeout', options.serverTimeout, 200, 10, 60_000),
    guard: duration('restartGuard', options.restartGuard, 60_000, 0, 86_400_000),
    durable: flag('durable', options.durable, false),
    minValidity: duration('minValidity', options.minValidity, 0, 0, 86_400_000),
  };
  return new LazyQuorum(settings, PREFIX);
}

function portsOf(clients: unknown, option: string): ClientPort[] {
  const expected = 'an odd number of clients, at least 3 and at most 15, one for each server';
  if (!Array.isArray(clients)) throw badOption(option, expected, clients);
  const { length } = clients;
  if (length % 2 === 0 || length < SERVERS_MIN || length > SERVERS_MAX) {
    const message =
      `Holdfast: option "${option}" must be ${expected}, not ${length}: a majority must agree, ` +
      'so an even number of servers tolerates no more failures than one server fewer';
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option });
  }
  return clients.map((client: unknown, at) => {
    const name = `${option}[${at}]`;
    if (clients.indexOf(client) < at) throw badOption(name, 'another client', 'the same client');
    try {
      const port = portFor(client);
      if (port.cluster === undefined) return port;
      throw new TypeError('it is a client of a cluster, and each member must be one server');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `Holdfast: ${name}: ${why}`;
      throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: name, cause: error });
    }
  });
}

/** The settings of a quorum, with defaults filled in. */
interface QuorumSettings {
  readonly ports: readonly ClientPort[];
  readonly timeout: number;
  readonly guard: number;
  readonly durable: boolean;
  readonly minValidity: number;
}

/**
 * Loads the code of the quorum, with its engine, at the first command, so that programs with one
 * server do not load it.
 */
class LazyQuorum implements Store {
  readonly label = 'quorum';
  readonly writesLater = true;
  readonly #settings: QuorumSettings;
  readonly #prefix: string;
  #store: Store | undefined;
  #loading: Promise<Store> | undefined;

  constructor(settings: QuorumSettings, prefix: string) {
    this.#settings = settings;
    this.#prefix = prefix;
  }

  space(prefix: string): Store {
    return new LazyQuorum(this.#settings, prefix);
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    if (this.#store !== undefined) return this.#store.execute(batch);
    const answers = this.#load().then((store) => store.execute(batch));
    return batch.map((_, at) => answers.then((all) => all[at] as Promise<Reply>));
  }

  async written(): Promise<void> {
    await (await this.#load()).written?.();
  }

  async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    return (await this.#load()).listen(name, listener);
  }

  async *keys(pattern: string, within: TimeLimit): AsyncIterable<string> {
    yield* (await this.#load()).keys(pattern, within);
  }

  trouble(): string | undefined {
    return this.#store?.trouble?.();
  }

  servers(): readonly ServerInfo[] {
    return this.#store?.servers?.() ?? [];
  }

  async examine(terms: ExamineTerms): Promise<Examination> {
    const { examine } = await import('./store/redis/doctor/examine.js');
    const { ports, ...quorum } = this.#settings;
    return examine({ ports, prefix: this.#prefix, quorum }, terms);
  }

  #load(): Promise<Store> {
    this.#loading ??= import('./store/quorum/redis-quorum.js').then(({ redisQuorum }) => {
      this.#store = redisQuorum(this.#settings, this.#prefix);
      return this.#store;
    });
    return this.#loading;
  }
}
