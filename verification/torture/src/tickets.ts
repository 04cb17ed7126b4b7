/** The queue of a lock in the text of its state, see `state-codec.ts` of the register store. */

interface State {
  readonly lock?: {
    readonly lastTicket: number;
    /** `before`: how long before the last ticket, see `saved-waiters.ts` of the engine. */
    readonly waiters?: readonly (readonly [id: string, before: number])[];
  };
}

/** The ticket of each waiter, by its id. */
export function ticketsOf(state: string | undefined): Map<string, number> {
  const json = /\{.*/s.exec(state ?? '')?.[0];
  const { lock } = (json === undefined ? {} : JSON.parse(json)) as State;
  return new Map(lock?.waiters?.map(([id, before]) => [id, lock.lastTicket - before]));
}
