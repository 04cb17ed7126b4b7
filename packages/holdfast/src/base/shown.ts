/** How `console.log`, `JSON.stringify` and template strings show an object. */

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** @param pick the properties to show, after the class name */
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
  define(type.prototype, 'toJSON', function toJSON(this: T) {
    const parts = Object.entries(pick(this));
    return Object.fromEntries(
      parts.map(([name, value]) => [
        name,
        value instanceof Map ? Object.fromEntries(value) : value,
      ]),
    );
  });
  define(type.prototype, 'toString', function toString(this: T) {
    return `${(this as object).constructor.name} ${JSON.stringify(this)}`;
  });
}

function define(prototype: unknown, name: string, value: () => unknown): void {
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
}
