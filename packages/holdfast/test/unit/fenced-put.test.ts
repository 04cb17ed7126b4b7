/** A conditional write needs the ETag of the object. */
import { expect, it } from 'vitest';
import { fencedPut, type PutCondition } from '../../src/fence.js';

/** Writes to an object with this ETag. Resolves to the conditions of the writes. */
async function conditions(etag: unknown): Promise<PutCondition[]> {
  const seen: PutCondition[] = [];
  const head = async () => ({ etag: etag as string, fence: 1 });
  const put = async (condition: PutCondition): Promise<boolean> => seen.push(condition) > 0;
  await fencedPut({ head, put }, 2);
  return seen;
}

it.each([undefined, null, ''])('no write has the ETag %s', async (etag) => {
  await expect(conditions(etag)).rejects.toMatchObject({
    code: 'HOLDFAST_BAD_OPTION',
    option: 'etag',
  });
  // a control: with an ETag it is written on this condition
  expect(await conditions('"a"')).toEqual([{ ifMatch: '"a"' }]);
});
