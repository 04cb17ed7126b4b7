/** Calls that are collected into batches. */
import { describe, expect, it } from 'vitest';
import { Collector, type CollectorTerms, RegisterError } from '../../../src/register.js';

/** A collector that records its batches, and answers when it is told to. */
function collecting(terms: CollectorTerms<string> = {}) {
  const batches: string[] = [];
  const answers: (() => void)[] = [];
  const collector = new Collector<string, string>((batch) => {
    batches.push(batch.join(' '));
    return new Promise((resolve, reject) => {
      const isRefused = batch.includes('bad');
      const refusal = new RegisterError('refused', `refused: ${batch.length}`);
      answers.push(() => (isRefused ? reject(refusal) : resolve(batch.map((one) => `${one}!`))));
    });
  }, terms);
  const settle = async (): Promise<void> => {
    for (const answer of answers.splice(0)) answer();
    await turn();
  };
  return { collector, batches, settle };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const all = (collector: Collector<string, string>, ...questions: string[]) =>
  Promise.allSettled(questions.map((one) => collector.add(one)));

describe('calls', () => {
  it('of one moment are a batch, and those that come meanwhile are the next one', async () => {
    const { collector, batches, settle } = collecting({ max: 3 });
    const first = all(collector, 'a', 'b');
    await turn();
    const second = all(collector, 'c', 'd', 'e', 'f');
    await turn();
    expect(batches).toEqual(['a b']);
    await settle();
    expect(batches).toEqual(['a b', 'c d e']);
    await settle();
    await settle();
    expect(batches).toEqual(['a b', 'c d e', 'f']);
    const values = [...(await first), ...(await second)].map((one) => 'value' in one && one.value);
    expect(values).toEqual(['a!', 'b!', 'c!', 'd!', 'e!', 'f!']);
  });

  it('do not wait for an answer if batches overlap', async () => {
    const { collector, batches } = collecting({ max: 2, overlaps: true });
    void all(collector, 'a', 'b', 'c');
    await turn();
    void all(collector, 'd');
    await turn();
    expect(batches).toEqual(['a b', 'c', 'd']);
  });

  it('of one key are in different batches, in their order', async () => {
    const keyOf = (question: string): string => question.charAt(0);
    const { collector, batches, settle } = collecting({ max: 2, keyOf });
    void all(collector, 'a1', 'a2', 'b1', 'c1', 'b2', 'a3');
    await turn();
    for (let more = 0; more < 4; more++) await settle();
    expect(batches).toEqual(['a1 b1', 'a2 c1', 'b2 a3']);
  });

  it('are made alone if the batch is refused, and only one of them fails', async () => {
    const { collector, batches, settle } = collecting();
    const results = all(collector, 'a', 'bad', 'c');
    await turn();
    await settle();
    await settle();
    expect(batches).toEqual(['a bad c', 'a', 'bad', 'c']);
    expect(await results).toMatchObject([
      { value: 'a!' },
      { reason: { kind: 'refused', message: 'refused: 1' } },
      { value: 'c!' },
    ]);
  });

  it('fail together with any other error, and the next batch follows', async () => {
    let calls = 0;
    const collector = new Collector<string, string>(async (batch) => {
      calls += 1;
      if (calls === 1) throw new RegisterError('unanswered', 'no answer');
      if (calls === 2) return [];
      return batch;
    });
    const failed = { status: 'rejected', reason: { kind: 'unanswered', message: 'no answer' } };
    expect(await all(collector, 'a', 'b')).toMatchObject([failed, failed]);
    const few = { reason: { kind: 'unanswered', message: expect.stringContaining('of 1 keys') } };
    expect(await all(collector, 'a')).toMatchObject([few]);
    expect(await all(collector, 'a')).toMatchObject([{ value: 'a' }]);
  });
});
