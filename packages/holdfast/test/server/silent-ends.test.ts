/** A call that is awaited settles, though the store has no handle that keeps the process alive. */
import { spawnWorker } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';

const program = new URL('../children/releases.mjs', import.meta.url);

describe.each([
  ['fails once', 1, ['released']],
  // `run` and `using` leave the release to the background then
  ['fails for longer', 6, ['HOLDFAST_UNCERTAIN', 'released']],
] as const)('while the store %s', (_, failures, codes) => {
  it.each(['release', 'a second release', 'using', 'run', 'allOf'])(
    'a process reaches the line after: %s',
    async (key) => {
      await using worker = spawnWorker(program, { args: [JSON.stringify({ key, failures })] });
      const { code } = await worker.next('settled');
      expect(codes).toContain(code);
      expect(await worker.exited).toEqual({ code: 0, signal: null });
    },
  );
});
