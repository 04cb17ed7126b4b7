/** Statistics of a server. */
import type { Server } from 'holdfast-testkit';

/** Script calls since the server started. */
export async function scriptCalls(server: Server): Promise<number> {
  const stats = await server.commandstats();
  return (stats.get('evalsha')?.calls ?? 0) + (stats.get('eval')?.calls ?? 0);
}
