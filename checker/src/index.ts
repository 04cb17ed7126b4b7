/** The face of the checker: the format of histories, and what judges them. */
export * from './format.js';
export { History, type HistoryOptions, readEvents } from './history.js';
