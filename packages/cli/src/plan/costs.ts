/**
 * What each operation costs on each topology, as measured by
 *
 *     npm run bench -- --scale --json FILE
 */

export const TOPOLOGIES = ['one', 'replicas', 'quorum', 'cluster'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** What one operation needs: of all servers together, and of the client. */
export interface Cost {
  readonly commands: number;
  /** Calls that the scripts make. */
  readonly inner: number;
  /** Processor time in µs. */
  readonly server: number;
  readonly client: number;
  /** Bytes to the servers, from them, and between them. */
  readonly received: number;
  readonly sent: number;
  readonly between: number;
}

export interface Costs {
  /** An acquisition of a free lock, and its release. */
  readonly pair: Cost;
  /** What a pair costs more, in µs, in a process and at a server that do little else. */
  readonly alone: { readonly server: number; readonly client: number };
  /** An acquisition that waits for another process, and its release. */
  readonly handOff: Cost;
  /** The renewal of one lease of a call, and the call itself. */
  readonly renewal: Cost;
  readonly renewalCall: Cost;
  /** The most leases of a call. */
  readonly renewedTogether: number;
  readonly poll: Cost;
  /** Bytes in a server. */
  readonly serverBytes: {
    readonly empty: number;
    readonly lease: number;
    readonly key: number;
    readonly waiter: number;
    readonly connection: number;
    /** What a connection needs more for two seconds after a command. */
    readonly busy: number;
  };
  /** Bytes in a process. */
  readonly clientBytes: { readonly lease: number; readonly waiter: number };
  /** Of a process: at all servers together, and at each master. */
  readonly connections: { readonly fixed: number; readonly client: number; readonly wake: number };
}
