/**
 * What is known of the failed call:
 *
 * - `refused`: the server answered and did not execute it, and will refuse each repetition too: a
 *   missing right, a table that does not exist. Callers get `HOLDFAST_REFUSED`.
 * - `transient`: the server answered and did not execute it; a repetition may succeed.
 * - `closed`: the client is closed. A swap that was sent before may have taken effect.
 * - `unanswered`: no answer came. A swap may have taken effect, or may take effect later. Every
 *   other error means this too.
 */
export type RegisterErrorKind = 'refused' | 'transient' | 'closed' | 'unanswered';

const KINDS: ReadonlySet<unknown> = new Set<RegisterErrorKind>([
  'refused',
  'transient',
  'closed',
  'unanswered',
]);
const BRAND = Symbol.for('holdfast.register-error');

/**
 * Thrown by a register. An outage must never be called `refused` or `transient`: the library then
 * believes that the call had no effect.
 */
export class RegisterError extends Error {
  readonly kind: RegisterErrorKind;

  /**
   * @param message the words of the server, and what to do
   * @throws TypeError if `kind` is none of the four
   */
  constructor(kind: RegisterErrorKind, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    if (!KINDS.has(kind)) throw new TypeError(`RegisterError: no such kind: ${String(kind)}`);
    this.name = 'RegisterError';
    this.kind = kind;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for a `RegisterError` of any copy of the library. */
export function isRegisterError(error: unknown): error is RegisterError {
  return typeof error === 'object' && error !== null && BRAND in error;
}
