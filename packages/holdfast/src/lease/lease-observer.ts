import type { LeaseRecord } from './lease-record.js';

/** Learns that a lease was lost, released or given up in this process. */
export interface LeaseObserver {
  ended(record: LeaseRecord): void;
}
