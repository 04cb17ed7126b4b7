/**
 * The meaning of an error of the server for a lock. Only its SQLSTATE counts, because the server
 * translates its messages. See "PostgreSQL Error Codes", appendix A of its manual.
 */
import { RegisterError } from 'holdfast/register';
import { TABLE } from './sql.js';

/** No answer came: the statement may have taken effect. */
export class NoAnswer extends Error {
  override readonly name: string = 'NoAnswer';
}

/** What an error says about the statement. */
type Meaning =
  /** Another process was first, and the statement changed nothing. */
  | 'lost'
  /** The statement may have taken effect. */
  | 'unanswered'
  /** It changed nothing, and may succeed later. */
  | 'transient'
  /** It changed nothing, and will not succeed. */
  | 'refused';

/** A lost race: two transactions changed the same row, or waited for each other, or too long. */
const LOST: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);
/** The server only reads. */
const READ_ONLY = '25006';
/**
 * Statements that were ended; a server that only reads, that starts, or that has no connection, no
 * memory or no space left.
 */
const TRANSIENT = /^(57014|25006|53|57P03|25P02)/;
/**
 * Broken connections, a server that stops, and errors of poolers: they use the code of internal
 * errors, of errors of the system, or of broken connections.
 */
const UNANSWERED = /^(08|58|XX|57P0[1245]|40003|25P0[34])/;

function stateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  // errors of sockets have codes of five letters too, and no severity
  const isState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
  return isState && (severity !== undefined || /\d/.test(code)) ? code : undefined;
}

export function meaningOf(error: unknown): Meaning {
  const state = stateOf(error);
  if (state === undefined || UNANSWERED.test(state)) return 'unanswered';
  if (LOST.has(state)) return 'lost';
  // until the slowest listener has read: other limits of this code are for good
  const isFull = state === '54000' && /NOTIFY/.test(String((error as Error).message));
  return isFull || TRANSIENT.test(state) ? 'transient' : 'refused';
}

/** True for an error that the server told. */
export function isOfServer(error: unknown): boolean {
  return stateOf(error) !== undefined;
}

/** Says that the server only reads: it is a standby, or was the primary before a fail-over. */
export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === READ_ONLY;
}

/** The failure that is reported for an error. */
export function failureOf(error: unknown, table: string): RegisterError {
  if (error instanceof RegisterError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const meaning = meaningOf(error);
  const kind = meaning === 'lost' ? 'transient' : meaning;
  return new RegisterError(kind, `${message}${adviceOn(stateOf(error) ?? '', table)}`, {
    cause: error,
  });
}

const optionOf = (table: string): string => (table === TABLE ? '' : `, { table: '${table}' }`);

function adviceOn(state: string, table: string): string {
  switch (state) {
    case '42P01':
      return (
        `; create the table with: await createTable(pool${optionOf(table)}), ` +
        `or run the SQL of tableSql('${table}') in a migration`
      );
    case '42P10':
      return `; the table ${table} has no primary key: ALTER TABLE ${table} ADD PRIMARY KEY (key)`;
    case '42703':
      return `; the table ${table} is not that of holdfast-postgres`;
    case '42501':
      return `; the user needs SELECT, INSERT, UPDATE and DELETE on ${table}`;
    case READ_ONLY:
      return (
        '; the server is a standby: connect to the primary; or the transaction is READ ONLY, ' +
        'perhaps by default_transaction_read_only'
      );
    default:
      return '';
  }
}
