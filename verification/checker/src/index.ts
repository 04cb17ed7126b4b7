/** The public interface of the checker: the format of histories, and the checks. */
export { ALL } from './checks/all.js';
export * from './format.js';
export { History, type HistoryOptions, readEvents } from './history.js';
export { inOrder, sorted } from './in-order.js';
export {
  CHECKS,
  type CheckName,
  type Excuse,
  runChecks,
  type Violation,
  violations,
  violationsSoFar,
} from './run-checks.js';
