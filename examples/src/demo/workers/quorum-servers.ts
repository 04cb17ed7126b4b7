/** The servers of the demo on a quorum. They are of the test kit, and end with the demo. */
import type { Server } from 'holdfast-testkit';

const SERVERS = 5;

export interface QuorumServers {
  readonly names: readonly string[];
  /** The URLs, with commas between them. */
  readonly url: string;
  kill(name: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startQuorum(): Promise<QuorumServers> {
  // loaded here, because the demo on one server needs no test kit
  const { startServer } = await import('holdfast-testkit');
  const servers = new Map<string, Server>();
  await Promise.all(
    Array.from({ length: SERVERS }, async (_, at) => {
      servers.set(`server ${at + 1}`, await startServer({ server: 'redis' }));
    }),
  );
  const names = [...servers.keys()].sort();
  return {
    names,
    url: names.map((name) => servers.get(name)?.url).join(','),
    kill: async (name) => servers.get(name)?.kill(),
    stop: async () => {
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}
