/**
 * The runner of vitest with `HOLDFAST_REPEATS=20`: each test runs 20 times more, with other random
 * draws. It finds a test that fails by chance. The hooks before and after each test run each time.
 */
import { setMaxListeners } from 'node:events';
import { type RunnerTestCase, TestRunner } from 'vitest';

export default class RepeatingRunner extends TestRunner {
  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    test.repeats = Number(process.env['HOLDFAST_REPEATS']);
    // each repetition adds one
    setMaxListeners(0, test.context.signal);
  }
}
