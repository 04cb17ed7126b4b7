/** All checks. The sequence of events of an attempt is checked while it is read (`lifecycle`). */
import type { Check } from '../run-checks.js';
import { barrier } from './barrier.js';
import { exclusion } from './exclusion.js';
import { fence } from './fence.js';
import { ghost } from './ghost.js';
import { latch } from './latch.js';
import { linear } from './linear.js';
import { order } from './order.js';
import { refusal } from './refusal.js';
import { signal } from './signal.js';
import { slot } from './slot.js';
import { use } from './use.js';
import { wakeup } from './wakeup.js';
import { zombie } from './zombie.js';

export const ALL: readonly Check[] = [
  ...[exclusion, fence, use, linear, order],
  ...[wakeup, zombie, ghost, refusal],
  ...[signal, slot, latch, barrier],
];
