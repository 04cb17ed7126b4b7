/** Scheduled work, on any backend. */
import { describe } from 'vitest';
import type { Backend } from '../support/backends.js';
import { scheduleRuns } from './schedule-runs.js';
import { scheduleSlots } from './schedule-slots.js';

export function scheduleSuite(backend: Backend): void {
  describe('a run', () => scheduleRuns(backend));
  describe('a slot', () => scheduleSlots(backend));
}
