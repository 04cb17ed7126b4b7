/**
 * The server's time for the release of one reader among many readers, against one among few. The
 * client's time is excluded, because it would hide a difference.
 */
import { Holdfast, type RwLease } from 'holdfast';
import { connect } from './clients.js';
import { inTurns, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const FEW = 10;
const MANY = 10_000;
const AT_ONCE = 1000;
const RELEASES = 200;
/** No renewal during the measurement. */
const OPTIONS = { ttl: 3_600_000, renew: false };

export async function readers(bench: Bench, report: Report): Promise<void> {
  const { server } = bench;
  for (const client of bench.clients) {
    const bare = await connect(client, server.port);
    const holdfast = new Holdfast(bare.client, OPTIONS);
    const enter = async (key: string, count: number): Promise<RwLease[]> => {
      const { read } = holdfast.rwLock(key);
      const requests: Promise<RwLease>[] = [];
      for (let at = 0; at < count; at += AT_ONCE) {
        const batch = Math.min(AT_ONCE, count - at);
        requests.push(...Array.from({ length: batch }, () => read.acquire()));
        await requests.at(-1);
      }
      return Promise.all(requests);
    };
    // µs per release; a new reader replaces each released one, outside the measurement
    const releasing = async (key: string): Promise<number> => {
      let spent = 0;
      for (let remaining = RELEASES; remaining > 0; remaining -= FEW / 2) {
        const leases = await enter(key, FEW / 2);
        const before = (await server.commandstats()).get('evalsha')?.usec ?? 0;
        for (const lease of leases) await lease.release();
        spent += ((await server.commandstats()).get('evalsha')?.usec ?? 0) - before;
      }
      return spent / RELEASES;
    };
    await enter('few', FEW / 2);
    await enter('many', MANY - FEW / 2);
    const { few, many } = await inTurns(bench.rounds, {
      few: () => releasing('few'),
      many: () => releasing('many'),
    });
    report.add({
      ...{ part: 'A reader among many', server: server.name, client },
      ...{ what: `release among ${MANY} readers`, unit: 'µs (server)', value: spread(many) },
      against: { what: `among ${FEW}`, value: spread(few), ratio: ratios(many, few) },
      target: { of: 'ratio', most: 2 },
    });
    for (const key of ['few', 'many']) await holdfast.forceRelease(key);
    await holdfast.close({ grace: 0 });
    await bare.close();
  }
}
