/** Helpers of the condition tests. */
import { until } from 'holdfast-testkit';
import type { Holdfast, LockInfo } from '../../src/index.js';

/** Waits until `count` waiters are parked. */
export async function waitForParked(
  holdfast: Holdfast,
  key: string,
  count: number,
): Promise<LockInfo> {
  const look = async (): Promise<LockInfo | false> => {
    const info = await holdfast.inspect(key);
    return (info?.parkedCount ?? 0) === count && (info ?? false);
  };
  return until(look, { what: `${count} are parked` });
}
