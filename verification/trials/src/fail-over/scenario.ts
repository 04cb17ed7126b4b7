/** What takes part in the fail-overs of one deployment, and what they found. */
import type { Holdfast, Lease } from 'holdfast';
import type { Problems } from '../support/problems.js';
import type { Random } from '../support/random.js';
import type { Deployment } from './deployments.js';

export const MODES = ['with', 'without'] as const;
export type Mode = (typeof MODES)[number];

/** The processes of one mode. */
export interface Party {
  readonly mode: Mode;
  /** The number of replicas that must have a grant. */
  readonly replicas: number;
  readonly holder: Holdfast;
  readonly waiter: Holdfast;
  /** A short lease that lives from the fail-over before to the end of the present one. */
  renewed: Lease | undefined;
}

export interface Scenario {
  readonly deployment: Deployment;
  readonly parties: readonly Party[];
  readonly challenger: Holdfast;
  /** A planted fault: holders do not release the locks that are waited for. */
  readonly keepsLocks: boolean;
  readonly random: Random;
  readonly problems: Problems;
  readonly figures: Record<string, number>;
}

export type Output = Pick<Scenario, 'problems' | 'figures'>;

/** The servers did not do what a fail-over needs; the locks have no part in it. */
export class ServerTrouble extends Error {}

export function trouble(message: string): (cause: unknown) => never {
  return (cause) => {
    throw new ServerTrouble(message, { cause });
  };
}

export function add({ figures }: Pick<Scenario, 'figures'>, name: string): void {
  figures[name] = (figures[name] ?? 0) + 1;
}

export function sorted(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function detailsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
