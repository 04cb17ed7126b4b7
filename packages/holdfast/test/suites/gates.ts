/** Latches and barriers, on any backend. */
import { describe } from 'vitest';
import type { Backend } from '../support/backends.js';
import { barrierBreaks } from './gates-barrier-breaks.js';
import { barrierMeets, barrierSizes } from './gates-barrier.js';
import { latchCloses, latchCounts, latchDeletion, latchEnds } from './gates-latch.js';

export function gatesSuite(backend: Backend): void {
  describe('a latch', () => latchCounts(backend));
  describe('the end of a latch', () => latchEnds(backend));
  describe('a deleted latch', () => latchDeletion(backend));
  describe('a latch, at the end of an instance,', () => latchCloses(backend));
  describe('a barrier', () => barrierMeets(backend));
  describe('the size of a barrier', () => barrierSizes(backend));
  describe('a broken barrier', () => barrierBreaks(backend));
}
