/** What waiters cost: those of many processes, and those of one. */
import { sleep } from 'holdfast-testkit';
import { type Bench, costOf, LISTENS_MS, spread, weigh, withTeam } from './measuring.js';
import { minus } from './meter.js';
import type { Order } from './orders.js';
import { Team } from './team.js';

const SETTLING_TURNS = 12;

/** Idle waiters of one key, each in an instance of its own: the cost in a second. */
export async function waiters(bench: Bench): Promise<void> {
  const { meter, sizes, site } = bench;
  for (const count of sizes.waiters) {
    const shared = site.address.kind !== 'quorum' && site.address.kind !== 'postgres';
    await withTeam(bench, { ...spread(count), shared, ttl: 600_000 }, async (team) => {
      await using holder = await Team.start(site, { ttl: 600_000 });
      await holder.ask({ do: 'queue', key: 'waited', calls: 1 });
      // the holder tells the server that it listens
      await sleep(2 * LISTENS_MS);
      await meter.rest(sizes.rests);
      const before = await meter.read();
      const empty = await weigh(team);
      await team.ask({ do: 'wait', key: 'waited' });
      await settle(bench, team);
      const grown = minus(await meter.read(), before);
      const { result, change, seconds } = await meter.during(() =>
        team.ask({ do: 'rest', ms: sizes.idleMs }),
      );
      bench.note('waiter', count, {
        ...costOf(change, count * seconds, result),
        serverBytes: grown.memory / count,
        clientBytes: ((await weigh(team)) - empty) / count,
        connections: grown.connections / count,
      });
      await team.ask({ do: 'drop' });
    });
  }
}

/** Until the waiters have reached their pauses: their polls do not become fewer. */
async function settle({ meter, sizes }: Bench, team: Team): Promise<void> {
  let last = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < SETTLING_TURNS; turn++) {
    const rest: Order = { do: 'rest', ms: sizes.idleMs / 2 };
    const { change, seconds } = await meter.during(() => team.ask(rest));
    const rate = change.commands / seconds;
    if (rate > last * 0.9) return;
    last = rate;
  }
}

/** Tasks of one process that wait for one key, and hand it on. */
export async function local(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  const calls = sizes.operations;
  await withTeam(bench, { ttl: 600_000 }, async (team) => {
    await team.ask({ do: 'queue', key: 'local', calls: 1 });
    const empty = await weigh(team);
    await team.ask({ do: 'queue', key: 'local', calls });
    const heap = (await weigh(team)) - empty;
    bench.note('local waiter', calls, { clientBytes: heap / calls });
    const { result, change } = await meter.during(() => team.ask({ do: 'pass', calls }));
    bench.note('local hand-off', calls, costOf(change, calls, result));
  });
}

/** Calls of one process that wait for a lock of another one: the cost in a second. */
export async function processWaiters(bench: Bench): Promise<void> {
  const { meter, sizes, site } = bench;
  for (const calls of sizes.calls) {
    await withTeam(bench, { ttl: 600_000 }, async (team) => {
      await using holder = await Team.start(site, { ttl: 600_000 });
      await holder.ask({ do: 'queue', key: 'waited', calls: 1 });
      await sleep(2 * LISTENS_MS);
      await meter.rest(sizes.rests);
      const empty = await weigh(team);
      await team.ask({ do: 'queue', key: 'waited', calls });
      await sleep(2 * LISTENS_MS);
      const { result, change, seconds } = await meter.during(() =>
        team.ask({ do: 'rest', ms: sizes.restMs }),
      );
      const clientBytes = ((await weigh(team)) - empty) / calls;
      bench.note('process waiter', calls, {
        ...costOf(change, calls * seconds, result),
        clientBytes,
      });
      await team.ask({ do: 'drop' });
    });
  }
}
