/** Records the messages that one instance publishes on the channels of `diagnostics_channel`. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Holdfast } from '../../src/index.js';

/** One message: the name of its channel without `holdfast:` and `tracing:`, and its fields then. */
export interface Recorded {
  readonly channel: string;
  readonly message: Record<string, unknown>;
}

const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
export const TRACING = ['acquire', 'run', 'renew', 'release', 'forced'] as const;
const PLAIN = ['wait', 'lost', 'handoff', 'warning'];

/** Records until the returned function is called. `found` grows meanwhile. */
export function record(holdfast: Holdfast): { found: Recorded[]; stop: () => void } {
  const found: Recorded[] = [];
  const { id } = holdfast;
  const names = new Map<string, string>();
  for (const one of TRACING) {
    for (const step of STEPS) names.set(`tracing:holdfast:${one}:${step}`, `${one}:${step}`);
  }
  for (const one of PLAIN) names.set(`holdfast:${one}`, one);
  const stops = [...names].map(([name, channel]) => {
    const listen = (message: unknown): void => {
      const fields = message as { instance: { id: string } };
      if (fields.instance.id === id) found.push({ channel, message: { ...fields } });
    };
    subscribe(name, listen);
    return () => unsubscribe(name, listen);
  });
  return { found, stop: () => stops.forEach((stop) => stop()) };
}

/** The messages of one channel. */
export function of(found: readonly Recorded[], channel: string): Record<string, unknown>[] {
  return found.filter((one) => one.channel === channel).map(({ message }) => message);
}
