/** The face of the checker: the format of histories, and what judges them. */
export { ALL } from './checks/all.js';
export * from './format.js';
export { History, type HistoryOptions, readEvents } from './history.js';
export { inOrder, sorted } from './in-order.js';
export {
  CHECKS,
  type CheckName,
  type Excuse,
  judge,
  type Violation,
  violations,
  violationsSoFar,
} from './judge.js';
