/** How mistakes of registers are planted. */
import type { Change, MemoryRegister, Register, Swapped } from '../../src/register.js';
import type { MakeRegister } from '../../src/register-contract.js';

export interface Mistake {
  /** The name of the case that finds it. */
  readonly breaks: string;
  /** Registers with the mistake, on the data of one that has none. */
  readonly plant: (whole: MemoryRegister) => MakeRegister;
}

/** The methods of the register in memory, some of them replaced. */
export type Broken = (whole: MemoryRegister) => Partial<Register>;

export function mistake(breaks: string, broken: Broken): Mistake {
  return {
    breaks,
    plant: (whole) => () => {
      const register: Register = {
        label: 'broken',
        read: (key) => whole.read(key),
        swap: (key, version, change) => whole.swap(key, version, change),
        scan: (prefix) => whole.scan(prefix),
        listen: (channel, listener) => whole.listen(channel, listener),
        readMany: (keys) => whole.readMany(keys),
        swapMany: (swaps) => whole.swapMany(swaps),
        overtake: (key) => whole.overtake(key),
        alive: (channels) => whole.alive(channels),
      };
      return Object.assign(register, broken(whole));
    },
  };
}

/** Swaps whatever the version is. */
export async function force(whole: MemoryRegister, key: string, to: Change): Promise<Swapped> {
  for (;;) {
    const swapped = await whole.swap(key, (await whole.read(key)).version, to);
    if (swapped !== false) return swapped;
  }
}
