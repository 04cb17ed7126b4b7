export function attempt<T>(send: () => Promise<T>): Promise<T> {
  try {
    return send();
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(reason: unknown): Promise<never> {
  throw reason;
}

/** The words for clients that do not add the prefix to the keys of EVALSHA and EVAL. */
export function scriptWords(
  command: readonly string[],
  prefix: string,
  keys: readonly string[],
  args: readonly string[],
): string[] {
  const names = prefix === '' ? keys : keys.map((key) => prefix + key);
  return [...command, `${keys.length}`, ...names, ...args];
}

/** A `keyPrefix` may be bytes. */
export function prefixOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : '';
}

export const OWN_CLIENT = 'give Holdfast a client of its own, for example client.duplicate()';
