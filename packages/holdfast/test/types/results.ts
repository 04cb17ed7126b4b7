/**
 * What results are. This file is only compiled, against the built declarations, as a user's program
 * is: a `@ts-expect-error` without an error below it is itself an error.
 */
import { Holdfast, type HolderInfo, memory, type RunOnceResult, type SkipReason } from 'holdfast';

const holdfast = new Holdfast(memory());

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if the two types are the same. */
function same<A, B>(..._proof: Equal<A, B> extends true ? [] : ['these types differ']): void {}

/** Each reason has a case: a further one would be an error here. */
function textOf(reason: SkipReason): string {
  switch (reason) {
    case 'busy':
      return 'another machine runs it';
    case 'slot-taken':
      return 'it has been run';
  }
}

export async function scheduled(): Promise<string> {
  const outcome = await holdfast.schedule('k', { atLeast: 0 }).runOnce(() => 17);
  same<typeof outcome, RunOnceResult<number>>();
  // @ts-expect-error there is a value only if it was run
  outcome.value.toFixed();
  // @ts-expect-error there is a reason only if it was not run
  outcome.reason.toString();
  if (outcome.ran) {
    same<typeof outcome.value, number>();
    same<typeof outcome.fence, number>();
    // @ts-expect-error it was run
    return outcome.reason;
  }
  same<typeof outcome.holder, HolderInfo | null>();
  // @ts-expect-error it was not run
  outcome.value.toFixed();
  // @ts-expect-error the property is called `reason`
  outcome.why.toString();
  // @ts-expect-error not a reason: the run of a taken slot may be active
  if (outcome.reason === 'done') return '';
  return textOf(outcome.reason);
}

export async function leases(): Promise<void> {
  await using lease = await holdfast.mutex('k').acquire();
  const several = await holdfast.allOf(['a', 'b']).acquire();
  const reading = await holdfast.rwLock('c').read.acquire();
  for (const one of [lease, several, reading]) {
    same<typeof one.held, boolean>();
    same<typeof one.remaining, number>();
  }
  await holdfast.schedule('k', { atLeast: 0 }).runOnce((run) => {
    same<typeof run.held, boolean>();
    same<typeof run.remaining, number>();
    // @ts-expect-error a getter, not a method
    run.remaining();
  });
  // @ts-expect-error a getter, not a method
  lease.remaining();
  // @ts-expect-error a getter, not a method
  several.remaining();
  // @ts-expect-error only the library writes it
  lease.remaining = 5;
  // @ts-expect-error a plain lease has no side
  await lease.downgrade();
  // @ts-expect-error a lock that is not free gives `null`
  (await holdfast.mutex('k').tryAcquire()).fence.toFixed();
}

export async function inspected(): Promise<void> {
  const info = await holdfast.inspect('k');
  // @ts-expect-error a lock without a holder and a waiter gives `null`
  void info.holders.length;
  same<NonNullable<typeof info>['permits'], number>();
  same<HolderInfo['permits'], number>();
  // @ts-expect-error the property is called `permits`
  info?.capacity.toFixed();
  // @ts-expect-error the property is called `permits`
  info?.holders[0]?.weight.toFixed();
  const flight = await holdfast.singleFlight('k').do(() => 17);
  // @ts-expect-error only the caller that computed has the value
  flight.value.toFixed();
  if (flight.led) same<typeof flight.value, number>();
}
