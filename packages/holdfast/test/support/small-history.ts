/** Whether a few calls of one key are linearizable: some order of them explains their answers. */
import type { Swapped, Versioned } from '../../src/register.js';

interface Interval {
  began: number;
  ended: number;
}

export interface Read extends Interval {
  readonly op: 'read';
  answer?: Versioned;
}

export interface Swap extends Interval {
  readonly op: 'swap';
  readonly from: string;
  readonly state: string;
  /** None if its process was killed: it may have taken effect. */
  answer?: Swapped;
}

/** It may remove a state that may be forgotten, and does nothing else. */
export interface Sweep extends Interval {
  readonly op: 'sweep';
}

export type Call = Read | Swap | Sweep;

export interface Rules {
  /** The version without a state. */
  readonly none: string;
  readonly isForgotten: (state: string) => boolean;
}

interface At {
  /** `undefined`: that of a swap without an answer, which no read has shown yet. */
  readonly version: string | undefined;
  readonly state: string;
}

export function isExplained(calls: readonly Call[], first: At, rules: Rules): boolean {
  if (calls.length === 0) return true;
  const end = Math.min(...calls.map(({ ended }) => ended));
  return calls
    .filter(({ began }) => began < end)
    .some((call) => {
      const others = calls.filter((one) => one !== call);
      return after(first, call, rules).some((at) => isExplained(others, at, rules));
    });
}

/** The states that may follow; none if the answer is wrong. */
function after(at: At, call: Call, { none, isForgotten }: Rules): At[] {
  if (call.op === 'sweep') return isForgotten(at.state) ? [at, { version: none, state: '' }] : [at];
  if (call.op === 'read') {
    if (call.answer === undefined) return [at];
    const { state, version } = call.answer;
    const isRight = state === (isForgotten(at.state) ? '' : at.state);
    return isRight && version === (at.version ?? version) ? [{ ...at, version }] : [];
  }
  const fits = at.version === call.from;
  if (call.answer === false) return fits ? [] : [at];
  const next = { version: call.answer?.version, state: call.state };
  if (call.answer === undefined) return fits ? [at, next] : [at];
  return fits ? [next] : [];
}
