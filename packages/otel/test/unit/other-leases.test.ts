/** Leases that are not of a lock that a program acquires: of a single flight, and of a schedule. */
import { until } from 'holdfast-testkit';
import { Holdfast, memory } from 'holdfast';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { instrument } from '../../src/index.js';
import { inRequest, samplesOf, startRecording } from '../recorded.js';

let recording: Awaited<ReturnType<typeof startRecording>>;
let holdfast: Holdfast;
let stop: () => void;

beforeEach(async () => {
  recording = await startRecording();
  holdfast = new Holdfast(memory());
  const { meter, tracer } = recording;
  stop = instrument(holdfast, { meter, tracer, holderAfter: 0 });
});
afterEach(async () => {
  stop();
  await recording.stop();
});

it('a single flight has no permits of a semaphore', async () => {
  let names: string[] | undefined;
  await holdfast.singleFlight('page').do(async () => {
    names = samplesOf(await recording.scrape()).map(({ name }) => name);
  });
  expect(names?.filter((name) => name.includes('permits'))).toEqual([]);
});

it('a scheduled run that ends before `atLeast` has a span and a duration of its hold', async () => {
  const schedule = holdfast.schedule('job', { atLeast: 200 });
  await inRequest(recording.tracer, () => schedule.runOnce(() => 1));
  await until(async () => (await holdfast.inspect('job')) === null);
  expect(recording.spans().map(({ name }) => name)).toContain('hold job');
  const samples = samplesOf(await recording.scrape());
  expect(samples.some(({ name }) => /hold_duration.*count/u.test(name))).toBe(true);
});
