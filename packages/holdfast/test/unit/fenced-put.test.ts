/** A conditional write needs the ETag of the object, and one that differs for each fence. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import { expect, it } from 'vitest';
import { fencedPut, fencedSet, type PutCondition } from '../../src/fence.js';

/** Writes to an object with this ETag. Resolves to the conditions of the writes. */
async function conditions(etag: unknown): Promise<PutCondition[]> {
  const seen: PutCondition[] = [];
  const head = async () => ({ etag: etag as string | undefined, fence: 1 });
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

const BAD = ['', ' ', 'x', '1e1', '0x1', '-1', '1.5', '9007199254740992', -1, 1.5, null, true, []];

it.each(BAD.map((fence) => [fence]))(
  'the stored fence %j is refused, and nothing is written',
  async (fence) => {
    const puts: string[] = [];
    const head = async () => ({ etag: '"a"', fence: fence as string });
    const put = async (_: PutCondition, written: string): Promise<boolean> =>
      puts.push(written) > 0;
    await expect(fencedPut({ head, put }, 2)).rejects.toMatchObject({
      code: 'HOLDFAST_BAD_OPTION',
      option: 'fence',
    });
    expect(puts).toEqual([]);
  },
);

it.each([undefined, 0, 1, '0', '1', '01'])('the stored fence %j is one', async (fence) => {
  const head = async () => ({ etag: '"a"', fence });
  expect(await fencedPut({ head, put: async () => true }, 1)).toBe(true);
});

it.each([{}, null, { head: async () => undefined }])(
  'the object %j without its functions is refused',
  async (object) => {
    await expect(fencedPut(object as never, 1)).rejects.toMatchObject({
      code: 'HOLDFAST_BAD_OPTION',
      option: 'object',
    });
  },
);

it.each([{}, undefined, 'redis://a'])('the client %j is refused', async (client) => {
  await expect(fencedSet(client as never, 'k', 'v', 1)).rejects.toMatchObject({
    code: 'HOLDFAST_BAD_OPTION',
    option: 'client',
  });
});

interface PutInput {
  readonly IfMatch?: string;
  readonly IfNoneMatch?: string;
  readonly Body: Buffer | string;
  readonly Metadata: { readonly fence: string };
}

/** A client of S3 with one object, whose ETag is the MD5 of its body. */
function s3() {
  let kept: { readonly ETag: string; readonly input: PutInput } | undefined;
  const refusal = (status: number, name: string): Error =>
    Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } });
  const send = async (command: { readonly input?: PutInput }): Promise<unknown> => {
    const { input } = command;
    if (input === undefined) {
      if (kept === undefined) throw refusal(404, 'NotFound');
      return { ETag: kept.ETag, Metadata: kept.input.Metadata };
    }
    if (input.IfMatch !== undefined && input.IfMatch !== kept?.ETag) throw refusal(412, 'Failed');
    if (input.IfNoneMatch !== undefined && kept !== undefined) throw refusal(412, 'Failed');
    kept = { ETag: createHash('md5').update(input.Body).digest('hex'), input };
    return {};
  };
  return { send, fence: () => kept?.input.Metadata.fence };
}

const page = readFileSync(new URL('../../../../docs/fences.md', import.meta.url), 'utf8');
const RECIPE = page.match(
  /import { fencedPut } from 'holdfast\/fence';\n([^]*?)\nif \(!written\)/,
)?.[1];

it('the recipe for S3: a later holder with the same body is not overwritten', async () => {
  const { send, fence } = s3();
  class Head {}
  class Put {
    readonly input: PutInput;
    constructor(input: PutInput) {
      this.input = input;
    }
  }
  const names = ['fencedPut', 's3', 'HeadObjectCommand', 'PutObjectCommand', 'Buffer'];
  const run = compileFunction(`return (async () => { ${RECIPE}\n return written; })()`, [
    ...names,
    ...['pdf', 'lease'],
  ]) as (...values: unknown[]) => Promise<boolean>;
  const write = (pdf: string, of: number, through: { send: typeof send } = { send }) =>
    run(fencedPut, through, Head, Put, Buffer, Buffer.from(pdf), { fence: of });
  expect(await write('same', 1)).toBe(true);
  // paused between its two requests
  let first = true;
  const paused = async (command: { readonly input?: PutInput }): Promise<unknown> => {
    if (command instanceof Put && first) {
      first = false;
      expect(await write('same', 9)).toBe(true);
    }
    return send(command);
  };
  expect(await write('early', 5, { send: paused })).toBe(false);
  expect([first, fence()]).toEqual([false, '9']);
});
