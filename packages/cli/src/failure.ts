/** The exit codes, and the errors that lead to them. The codes are those of sysexits.h. */
import { type HoldfastError, isHoldfastError } from 'holdfast';

export const EXIT = {
  /** `doctor` has found something. */
  found: 1,
  /** EX_USAGE: the command line is wrong. */
  usage: 64,
  /** EX_UNAVAILABLE: the store does not answer. */
  unavailable: 69,
  /** EX_SOFTWARE: the lock was lost while the command ran, and the command was ended. */
  lost: 70,
  /** EX_OSERR: a fault of this program or of the system. */
  internal: 71,
  /** EX_TEMPFAIL: the lock was not acquired. */
  busy: 75,
  /** EX_NOPERM: wrong password, or missing rights. */
  denied: 77,
  /** As in a shell: the command exists but cannot be executed. */
  notExecutable: 126,
  /** As in a shell: the command was not found. */
  notFound: 127,
  /** As in a shell: this number plus that of the signal. */
  signal: 128,
} as const;

/** An error with an exit code and an advice for the user. */
export class Failure extends Error {
  readonly exitCode: number;
  readonly advice: string;

  constructor(exitCode: number, message: string, advice = '') {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

export function usage(message: string, advice = ''): Failure {
  return new Failure(EXIT.usage, message, advice);
}

const START_SERVER = 'start the server, or name another one with --url or REDIS_URL';
const ACCESS = 'put user and password into the URL: redis://user:password@host:6379';
const SAME_KIND = 'use the same kind of lock, with the same --permits, for each use of a key';
/** Replies of a server that refuses the user; a right that is missing in a script has no code. */
const DENIED = /\b(WRONGPASS|NOAUTH|NOPERM)\b|ACL failure|user executing the script/;
/** The same of PostgreSQL, and of the system for a file: a failed login, or a missing right. */
const DENIED_CODES: ReadonlySet<unknown> = new Set([
  ...['28P01', '28000', '42501'],
  ...['EACCES', 'EPERM'],
]);
/** The same of etcd, whose codes have other meanings too. */
const DENIED_BY_ETCD = /etcdserver: (authentication failed|permission denied|user name is empty)/;

/** The failure of a connection that was not opened. */
export function notConnected(server: string, reason: string): Failure {
  if (DENIED.test(reason)) {
    return new Failure(EXIT.denied, `${server} refuses the user: ${reason}`, ACCESS);
  }
  return new Failure(EXIT.unavailable, `${server} cannot be used: ${reason}`, START_SERVER);
}

/** True for what the store refuses at each repetition too: it is no outage. */
export function isRefusal(error: unknown): boolean {
  return isHoldfastError(error, 'HOLDFAST_REFUSED');
}

/** Turns any error into a failure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isHoldfastError(error)) return ofHoldfast(error);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Failure(EXIT.internal, `unexpected error: ${text}`, 'please report it');
}

function ofHoldfast(error: HoldfastError): Failure {
  const message = error.message.replace(/^Holdfast: /, '').replace(` (see ${error.page})`, '');
  switch (error.code) {
    case 'HOLDFAST_BAD_OPTION':
      return usage(message);
    case 'HOLDFAST_MISMATCH':
      return usage(message, SAME_KIND);
    case 'HOLDFAST_TIMEOUT':
    case 'HOLDFAST_ABORTED':
    case 'HOLDFAST_CLOSED':
      return new Failure(EXIT.busy, message, 'holdfast inspect shows the holder');
    case 'HOLDFAST_LOST':
    case 'HOLDFAST_NOT_HELD':
    case 'HOLDFAST_BROKEN':
      return new Failure(EXIT.lost, message);
    case 'HOLDFAST_REFUSED':
      return refused(error, message);
    case 'HOLDFAST_UNREACHABLE':
    case 'HOLDFAST_UNACKNOWLEDGED':
    case 'HOLDFAST_UNCERTAIN':
      return DENIED.test(message)
        ? new Failure(EXIT.denied, message, ACCESS)
        : new Failure(EXIT.unavailable, message, START_SERVER);
  }
}

function refused(error: HoldfastError, message: string): Failure {
  const { cause } = error;
  if (cause === undefined) return new Failure(EXIT.busy, message);
  // the message says which rights are missing
  if (isDeniedByDatabase(cause)) return new Failure(EXIT.denied, message);
  const reason = cause instanceof Error ? cause.message : '';
  if (DENIED.test(`${message} ${reason}`)) {
    return new Failure(
      EXIT.denied,
      message,
      'SECURITY.md of the npm package holdfast lists the rights that the user needs',
    );
  }
  return new Failure(EXIT.unavailable, message);
}

function isDeniedByDatabase(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (DENIED_CODES.has((one as { code?: unknown }).code)) return true;
    if (DENIED_BY_ETCD.test(one.message)) return true;
  }
  return false;
}
