/** How the servers of a quorum answered. */

/** How one server of a quorum answered last. */
export interface ServerInfo {
  /** The place of its client in the list, from 1. */
  readonly server: number;
  /**
   * - `agreed`: it agreed to the last request, or was not asked yet.
   * - `promised`: it had promised a greater ballot to another process.
   * - `restarted`: it lost its memory, so it does not vote for a while.
   * - `late`: it did not answer in time.
   * - `failed`: it could not be reached, or answered with an error.
   */
  readonly status: 'agreed' | 'promised' | 'restarted' | 'late' | 'failed';
  /** The same in words, with the reason. */
  readonly text: string;
  /** By how many ms its clock is ahead of the median of all; `undefined` if unknown. */
  readonly clockOffset: number | undefined;
}
