// Uses types of several entries: they must be the same types.
import { Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { memory } from 'holdfast/memory';
import { createMutex } from 'holdfast/mutex';

export async function typed(): Promise<{ fence: boolean; refused: boolean }> {
  const holdfast = new Holdfast(memory());
  const work = (lease: Lease): boolean => lease.fence > 0;
  const fence = await createMutex(holdfast, 'key').run(work);
  let refused = false;
  try {
    holdfast.semaphore('key', { permits: 0 });
  } catch (error) {
    refused = isHoldfastError(error, 'HOLDFAST_BAD_OPTION') && error.option === 'permits';
  }
  await holdfast.close();
  return { fence, refused };
}
