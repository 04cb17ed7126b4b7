/** Releases while the store does not answer. Nothing but the release keeps the process alive. */
import { Holdfast } from 'holdfast';
import { MemoryRegister, register } from 'holdfast/register';
import { setting, tell } from './connect.mjs';

class FailingRegister extends MemoryRegister {
  failures = 0;

  /**
   * @override
   * @type {MemoryRegister['swap']}
   */
  async swap(...args) {
    if (this.failures === 0) return super.swap(...args);
    this.failures -= 1;
    throw new Error('socket hang up');
  }
}

const failing = new FailingRegister();
const holdfast = new Holdfast(register(failing), { closeOnSignals: [] });
const mutex = holdfast.mutex('a');

/** @type {Record<string, (failures: number) => Promise<unknown>>} */
const ways = {
  release: async (failures) => {
    const lease = await mutex.acquire();
    failing.failures = failures;
    await lease.release();
  },
  'a second release': async (failures) => {
    const lease = await mutex.acquire();
    failing.failures = 2 * failures;
    await lease.release().catch(() => undefined);
    await lease.release();
  },
  using: async (failures) => {
    const lease = await mutex.acquire();
    failing.failures = failures;
    await lease[Symbol.asyncDispose]();
  },
  run: (failures) => mutex.run(async () => void (failing.failures = failures)),
  allOf: async (failures) => {
    const lease = await holdfast.allOf(['x', 'y']).acquire();
    failing.failures = 2 * failures;
    await lease.release();
  },
};

const { key, failures } = /** @type {{ key: string, failures: number }} */ (
  /** @type {unknown} */ (setting)
);
const code = await ways[key]?.(failures).then(
  () => 'released',
  (error) => error.code,
);
tell('settled', { code });
// the messages to the parent do not keep it alive either
process.disconnect?.();
