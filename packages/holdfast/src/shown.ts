/** How `console.log` and `util.inspect` show objects of a class. */

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * Shows the objects of a class as the class name and some of their properties.
 * @param pick the properties
 */
export function shownAs<T>(
  type: { readonly name: string; readonly prototype: T },
  pick: (one: T) => object,
): void {
  Object.defineProperty(type.prototype, INSPECT, {
    value(this: T, _depth: number, options: unknown, inspect: (...args: unknown[]) => string) {
      return `${(this as object).constructor.name} ${inspect(pick(this), options)}`;
    },
    configurable: true,
    writable: true,
  });
}
