/**
 * The network traffic without waiters: commands and round trips, and connections, counted by a
 * proxy.
 */
import { type Logged, startProxy } from 'holdfast-testkit';
import { Holdfast } from 'holdfast';
import { connect } from './clients.js';
import { spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const PAIRS = 1000;

export async function counts(bench: Bench, report: Report): Promise<void> {
  const { server } = bench;
  for (const client of bench.clients) {
    await using proxy = await startProxy(server);
    const bare = await connect(client, proxy.port);
    const holdfast = new Holdfast(bare.client);
    const mutex = holdfast.mutex('counted');
    // the first use of a script sends its source
    await (await mutex.acquire()).release();
    const connections = proxy.accepted;
    const [acquires, releases]: Logged[][] = [[], []];
    for (let pair = 0; pair < PAIRS; pair++) {
      proxy.clearLog();
      const lease = await mutex.acquire();
      acquires?.push(...proxy.log);
      proxy.clearLog();
      await lease.release();
      releases?.push(...proxy.log);
    }
    const add = (what: string, count: number, exactly: number): void =>
      report.add({
        ...{ part: 'Network, no waiters', server: server.name, client, what, unit: '' },
        value: spread([count]),
        target: { of: 'value', least: exactly, most: exactly },
      });
    // a caller that awaits each reply makes one round trip for each command
    add('commands and round trips of an acquire', (acquires?.length ?? 0) / PAIRS, 1);
    add('commands and round trips of a release', (releases?.length ?? 0) / PAIRS, 1);
    add('connections opened before the first contention', proxy.accepted - connections, 0);
    await holdfast.close();
    await bare.close();
  }
}
