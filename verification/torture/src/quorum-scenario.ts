/**
 * The servers of a quorum. Each process reaches each of them through a proxy of its own. The clock
 * of the first server can be stepped. No server has a replica.
 */
import { mkdirSync } from 'node:fs';
import { makeClockShim, type Server, type ServerName, startServer } from 'holdfast-testkit';
import {
  closeAll,
  fill,
  proxyRoute,
  type Route,
  RUNNER,
  SAVED,
  reachable,
  type ServerScenario,
} from './scenario.js';
import { historyOf } from './settings.js';

interface Size {
  /** The number of servers. */
  readonly size: number;
  readonly processes: number;
  readonly forgets: boolean;
}

export async function startQuorumScenario(
  name: ServerName,
  { size, processes, forgets }: Size,
  folder: string,
): Promise<ServerScenario> {
  mkdirSync(folder, { recursive: true });
  const clock = await makeClockShim();
  const open: AsyncDisposable[] = [];
  try {
    const start = async (at: number): Promise<Server> => {
      const env = at === 0 ? (clock?.env ?? {}) : {};
      const server = await startServer({ server: name, users: [], args: [...SAVED], env });
      open.push(server);
      return server;
    };
    const members = await Promise.all(Array.from({ length: size }, (_, at) => start(at)));
    const resource = await startServer({ server: name });
    open.push(resource);
    await Promise.all(members.map(fill));
    const routes: Route[] = [];
    while (routes.length < processes) routes.push(await proxyRoute(members, resource, open));
    const [main] = members as [Server];
    const history = historyOf(folder, RUNNER);
    const close = (): Promise<void> => closeAll(open);
    const more = { main, standby: undefined, members, forgets, resource, clock, routes };
    return { ...reachable(name, members, forgets), ...more, history, folder, close };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}
