/** The stores that can be tortured, each with its scenario and its faults. */
import { startEtcdScenario } from './etcd/scenario.js';
import { restoredFromBackup } from './faults/etcd-loss.js';
import { etcdMemberFaults } from './faults/etcd-members.js';
import { etcdProcessFaults } from './faults/etcd-processes.js';
import { failovers } from './faults/failover.js';
import { type Fault, FaultContext } from './faults/fault.js';
import { memoryLossFaults } from './faults/memory-loss.js';
import { postgresLossFaults } from './faults/postgres-loss.js';
import { postgresProcessFaults } from './faults/postgres-processes.js';
import { postgresServerFaults } from './faults/postgres-server.js';
import { type ProcessFault, processFaults } from './faults/processes.js';
import { quorumFaults } from './faults/quorum.js';
import { clockFaults, serverFaults } from './faults/server.js';
import { sqliteProcessFaults } from './faults/sqlite-processes.js';
import { sqliteFaults } from './faults/sqlite.js';
import type { Participants } from './participants.js';
import { startPostgresScenario } from './postgres/scenario.js';
import { startQuorumScenario } from './quorum-scenario.js';
import { type Scenario, type ServerScenario, startScenario } from './scenario.js';
import { sequence } from './schedule.js';
import { startSqliteScenario } from './sqlite/scenario.js';
import type { Parameters } from './torture.js';

/** A scenario, and the faults of its store and its processes. */
export interface Target {
  readonly scenario: Scenario;
  readonly processFaults: readonly ProcessFault[];
  /** Prepares the faults of the store. */
  readonly inject: (participants: Participants, ms: number) => Injection;
}

export interface Injection {
  readonly context: FaultContext;
  /** Injects faults into the store, until they end. */
  readonly run: (seed: number) => Promise<void>;
}

export async function startTarget(parameters: Parameters): Promise<Target> {
  const { server, processes, folder, quorum: size = 1, forgets = false, hosts = true } = parameters;
  if (server === 'postgres') {
    const scenario = await startPostgresScenario(processes, folder);
    const faults = [...postgresServerFaults, ...postgresLossFaults, ...clockFaults(scenario)];
    return target(scenario, postgresProcessFaults, () => faults);
  }
  if (server === 'sqlite') {
    const scenario = await startSqliteScenario(processes, folder);
    return target(scenario, sqliteProcessFaults, () => sqliteFaults(scenario));
  }
  if (server === 'etcd') {
    const scenario = await startEtcdScenario(processes, folder);
    const faults = [...etcdMemberFaults, restoredFromBackup];
    return target(scenario, etcdProcessFaults, () => faults);
  }
  const scenario =
    size > 1
      ? await startQuorumScenario(server, { size, processes, forgets }, folder)
      : await startScenario(server, processes, folder, hosts);
  const ofOne = (context: FaultContext<ServerScenario>): Fault[] => {
    return [...serverFaults(context), ...memoryLossFaults, ...failovers];
  };
  const hasHosts = scenario.routes.some(({ wire }) => wire !== undefined);
  return target(scenario, processFaults(hasHosts), (context) =>
    size > 1 ? quorumFaults(forgets) : ofOne(context),
  );
}

function target<S extends Scenario>(
  scenario: S,
  ofProcesses: readonly ProcessFault[],
  faultsIn: (context: FaultContext<S>) => readonly Fault<S>[],
): Target {
  return {
    scenario,
    processFaults: ofProcesses,
    inject: (participants, ms) => {
      const context = new FaultContext(scenario, participants, ms);
      return { context, run: (seed) => sequence(context, faultsIn(context), seed) };
    },
  };
}
