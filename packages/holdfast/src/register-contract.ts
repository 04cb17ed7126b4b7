/**
 * The entry `holdfast/register/contract`: cases for any test runner that prove a register.
 *
 * ```ts
 * import { registerCases } from 'holdfast/register/contract';
 *
 * for (const { name, run } of registerCases) it(name, () => run(() => new FileRegister(folder)));
 * ```
 */
import { HISTORIES } from './store/register/contract/history.js';
import { MESSAGES } from './store/register/contract/messages.js';
import { SWAPS } from './store/register/contract/swaps.js';
import { TEXTS } from './store/register/contract/texts.js';
import { TIMES } from './store/register/contract/times.js';
import type { RegisterCase } from './store/register/contract/case.js';

export type { Finding, FindingCode, FindingSeverity } from './store/finding.js';
export type { TimeLimit } from './store/port.js';
export type { MakeRegister, RegisterCase } from './store/register/contract/case.js';
export type {
  Change,
  Message,
  MessageListener,
  Register,
  Scanned,
  Swap,
  Swapped,
  Versioned,
} from './store/register/register.js';

/**
 * The rules of the port, one case each. Each takes up to some seconds; run them one after another,
 * on a database with the settings of production.
 */
export const registerCases: readonly RegisterCase[] = [
  ...[...SWAPS, ...HISTORIES, ...TIMES, ...TEXTS, ...MESSAGES],
];
