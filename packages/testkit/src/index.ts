/**
 * The private test kit of Holdfast: real servers, a proxy that injects faults, child processes,
 * waiting for a state.
 */
export { type Azurite, startAzurite } from './azurite.js';
export { type Binary, find, prepare, type ProgramName, type ServerName } from './binaries.js';
export {
  BUNDLES,
  type BundleLimit,
  type BundleSize,
  bundleSize,
  sizeProblems,
} from './bundle-size.js';
export { type Exit, type Message, spawnWorker, Worker, type WorkerOptions } from './children.js';
export { type Cluster, type ClusterOptions, SLOTS, startCluster } from './cluster.js';
export {
  type Collector,
  type Series,
  startPrometheus,
  startVictoriaMetrics,
} from './collectors.js';
export { type ClockShim, makeClockShim } from './clock-shim.js';
export { type Pgbouncer, startPgbouncer } from './pgbouncer.js';
export { type Etcd, type EtcdMember, type EtcdOptions, startEtcd } from './etcd.js';
export { type MariaDb, startMariaDb } from './mariadb.js';
export { type FullDisk, makeFullDisk } from './full-disk.js';
export { type Host, makeHost, type Wire } from './network.js';
export { forgetPace, measuredPace, paced } from './pace.js';
export { type Postgres, type PostgresOptions, startPostgres } from './postgres.js';
export { type Direction, type Logged, Proxy, startProxy, type Target } from './proxy.js';
export type { AfterDrop, Match, Rule } from './proxy-rules.js';
export { type Address, RawClient } from './raw-client.js';
export {
  decode,
  decodeCommand,
  encodeCommand,
  FrameError,
  FrameSplitter,
  RespError,
  type Value,
} from './resp.js';
export { freePorts } from './ports.js';
export { type Replicated, type ReplicatedOptions, startReplicated } from './sentinel.js';
export { type CommandStats, type Server, type ServerOptions, startServer } from './servers.js';
export { type Certificate, makeCertificate } from './tls.js';
export { type Patience, percentile, sleep, stall, until } from './wait.js';
export { ShardingProxy, startShardingProxy } from './sharding-proxy.js';
