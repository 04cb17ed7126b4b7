/** The common options of the processes of this trial; all times are short. */

export interface Options {
  readonly ttl: number;
  readonly claimWindow: number;
  readonly retention: number;
  readonly linger: number;
}

export const OPTIONS: Options = { ttl: 500, claimWindow: 100, retention: 4000, linger: 300 };
