import { HoldfastError } from '../base/errors.js';
import { portFor } from '../store/clients/detect.js';
import type { ClientPort } from '../store/clients/port.js';

/** @throws HOLDFAST_BAD_OPTION if it is no client */
export function portOfOption(client: unknown, option: string): ClientPort {
  try {
    return portFor(client);
  } catch (cause) {
    const message = `Holdfast: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option, cause });
  }
}
