/** The queue of a lock in the text of its state, see `state-codec.ts` of the register store. */

interface State {
  readonly lock?: { readonly waiters?: readonly (readonly [id: string, ticket: number])[] };
}

/** The ticket of each waiter, by its id. */
export function ticketsOf(state: string | undefined): Map<string, number> {
  const json = /\{.*/s.exec(state ?? '')?.[0];
  if (json === undefined) return new Map();
  const { lock } = JSON.parse(json) as State;
  return new Map(lock?.waiters?.map(([id, ticket]) => [id, ticket]));
}
