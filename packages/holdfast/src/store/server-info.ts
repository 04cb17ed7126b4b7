/** The last answer of one server of a quorum. */
export interface ServerInfo {
  /** Its client's place in the list, from 1. */
  readonly server: number;
  /**
   * - `agreed`: it agreed to the last request, or was not asked yet.
   * - `promised`: it had promised a greater ballot to another process.
   * - `restarted`: it has no memory of earlier votes, and does not vote for a while.
   * - `late`: it did not answer in time.
   * - `failed`: it could not be reached, or answered with an error.
   */
  readonly status: 'agreed' | 'promised' | 'restarted' | 'late' | 'failed';
  /** The status in words, with the reason. */
  readonly text: string;
  /** How far its clock is ahead of the median of all, in ms; `undefined` if unknown. */
  readonly clockOffset: number | undefined;
}
