/** Work with locks that changes each metric. It can be repeated. */
import type { Holdfast } from 'holdfast';
import { until } from 'holdfast-testkit';

const PATIENT = { within: 30_000 };

/** @param other an instance with the same store, which is not observed */
export async function everyMetric(holdfast: Holdfast, other: Holdfast): Promise<void> {
  const before = await other.mutex('invoice:42').acquire();
  const waiting = holdfast.mutex('invoice:42').acquire();
  await until(async () => (await other.inspect('invoice:42'))?.waiterCount === 1, PATIENT);
  await before.release();
  await (await waiting).release();

  await holdfast.semaphore('pool', { permits: 8 }).run(() => undefined);
  const lost = await holdfast.mutex('invoice:43').acquire();
  await holdfast.forceRelease('invoice:43');
  await until(() => lost.state === 'lost', PATIENT);
  holdfast.core.telemetry.warn('clock', 5000);
  const slow = await holdfast.mutex('slow').acquire();
  await slow.extend(20_000);
  await slow.release();

  // a renewal that fails: the store ends the lease behind the back of its holder
  const gone = await holdfast.mutex('gone').acquire();
  const { key, id } = gone;
  const { retention } = holdfast.core.settings;
  await other.core.requests.send({ op: 'release', key, id, retention, unpassed: true });
  await gone.extend(20_000).catch(() => undefined);
}
