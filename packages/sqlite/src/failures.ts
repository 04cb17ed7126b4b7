/**
 * The meaning of an error for a lock. Only the result code of SQLite counts, see "Result and Error
 * Codes" of its manual, or the code of the system for a file that cannot be used.
 */
import { RegisterError, type RegisterErrorKind } from 'holdfast/register';

/** What an error says about the call. */
type Meaning =
  /** Another connection has locked the file; the call changed nothing. */
  'busy' | Exclude<RegisterErrorKind, 'closed'>;

/** Result codes of SQLite, with their numbers. */
const CODES: Readonly<Record<string, number>> = {
  ...{ PERM: 3, ABORT: 4, BUSY: 5, LOCKED: 6, NOMEM: 7, READONLY: 8, INTERRUPT: 9, IOERR: 10 },
  ...{ CORRUPT: 11, FULL: 13, CANTOPEN: 14, PROTOCOL: 15, SCHEMA: 17, NOTADB: 26 },
};
const NAMES = new Map(Object.entries(CODES).map(([name, code]) => [code, name]));

/** Another connection writes, or recovers the file. */
const BUSY: ReadonlySet<string> = new Set(['BUSY', 'LOCKED', 'PROTOCOL']);
/** The transaction was rolled back, and the reason may pass. */
const TRANSIENT: ReadonlySet<string> = new Set([
  ...['FULL', 'NOMEM', 'SCHEMA', 'ABORT', 'INTERRUPT'],
]);
/** Of the system: the file is not there, or may not be used. Others, as EMFILE, may pass. */
const REFUSED: ReadonlySet<string> = new Set([
  ...['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG'],
]);

/** The name of the result code of SQLite, without its extension; `undefined` for other errors. */
function codeOf(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  // node:sqlite
  if (typeof errcode === 'number') return NAMES.get(errcode & 0xff) ?? 'ERROR';
  // better-sqlite3
  return /^SQLITE_([A-Z]+)/.exec(String(code))?.[1];
}

export function meaningOf(error: unknown): Meaning {
  if (error instanceof RegisterError) {
    return error.kind === 'closed' ? 'unanswered' : error.kind;
  }
  const code = codeOf(error);
  if (code === undefined) return ofSystem(error);
  if (BUSY.has(code)) return 'busy';
  if (TRANSIENT.has(code)) return 'transient';
  if (code === 'CANTOPEN') return 'transient';
  // a commit may have reached the disk
  return code === 'IOERR' ? 'unanswered' : 'refused';
}

/** Of an error of the system: it comes before the file is open, or the call has no answer. */
function ofSystem(error: unknown): Meaning {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (typeof syscall !== 'string') return 'unanswered';
  return REFUSED.has(String(code)) ? 'refused' : 'transient';
}

/** The failure that is reported for an error. */
export function failureOf(error: unknown, path: string): RegisterError {
  if (error instanceof RegisterError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const meaning = meaningOf(error);
  const kind = meaning === 'busy' ? 'transient' : meaning;
  return new RegisterError(kind, `${path}: ${message}${adviceOn(error)}`, { cause: error });
}

function adviceOn(error: unknown): string {
  switch (codeOf(error) ?? (error as { code?: unknown } | undefined)?.code) {
    case 'BUSY':
      return '; another program keeps the file locked: give the locks a file of their own';
    case 'FULL':
      return '; the disk has no space left';
    case 'READONLY':
    case 'EACCES':
    case 'EROFS':
      return '; this process needs to write to the file and to its folder';
    case 'ENOENT':
      return '; create the folder';
    case 'NOTADB':
      return '; it is no file of locks: give another path';
    case 'CORRUPT':
      return '; stop all processes that use it, and remove the file: its locks are lost';
    default:
      return '';
  }
}
