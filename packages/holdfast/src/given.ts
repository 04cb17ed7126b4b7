/** Options that lie over others. One that is `undefined` was not given, wherever it comes from. */
export function over<A extends object, B extends object>(defaults: A, options: B): A & B {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as A & B;
}
