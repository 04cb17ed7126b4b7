/** `undefined` counts as not given, on either side. */
export function over<A extends object, B extends object>(defaults: A, options: B): A & B {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as A & B;
}
