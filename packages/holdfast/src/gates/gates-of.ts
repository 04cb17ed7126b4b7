/** Finds the gates of an instance. Their code is loaded with the first call on one of them. */
import type { Core } from '../core.js';
import { Later } from '../later.js';
import type * as Module from './gates.js';

/** @internal */
export const GATES: Later<typeof Module> = new Later(() => import('./gates.js'));

export async function gatesOf(core: Core): Promise<Module.Gates> {
  const { Gates } = await GATES.get();
  return core.part(Gates);
}
