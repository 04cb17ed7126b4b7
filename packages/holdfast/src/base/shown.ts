/** How `console.log`, `JSON.stringify` and template strings show an object. */

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** @param pick the properties to show, after the class name */
export function shownAs<T>(
  type: { readonly name: string; readonly prototype: T },
  pick: (one: T) => object,
): void {
  type Inspect = (...args: unknown[]) => string;
  const shown = function shown(this: T, _: number, options: unknown, inspect: Inspect): string {
    return `${(this as object).constructor.name} ${inspect(pick(this), options)}`;
  };
  define(type.prototype, INSPECT, shown);
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

function define(prototype: unknown, name: PropertyKey, value: unknown): void {
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
}
