/**
 * The meaning of a failed request for a lock. The codes are those of gRPC; where one code stands
 * for several outcomes, the words of etcd decide. See `api/v3rpc/rpctypes/error.go` of etcd.
 */
import { RegisterError, type RegisterErrorKind } from 'holdfast/register';

/** The meaning of a failed request. */
interface Meaning {
  readonly kind: RegisterErrorKind;
  /** True if it did not reach the server, or was not executed: another endpoint may execute it. */
  readonly elsewhere?: boolean;
  /** True if a new token may help. */
  readonly login?: boolean;
}

export class EtcdFailure extends RegisterError {
  readonly elsewhere: boolean;
  readonly login: boolean;

  constructor(
    { kind, elsewhere = false, login = false }: Meaning,
    message: string,
    cause?: unknown,
  ) {
    super(kind, message, { cause });
    this.elsewhere = elsewhere;
    this.login = login;
  }
}

/**
 * Codes of connections that were never made, so nothing was sent. Records of TLS that cannot be
 * decrypted may be those of the answer.
 */
const UNSENT = new RegExp(
  '^(ECONNREFUSED|ENOTFOUND|EAI_\\w+|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|' +
    'UND_ERR_CONNECT_TIMEOUT|ERR_(TLS|SSL)_(?!\\w*(DECRYPT|CIPHER_OP|RECORD|EOF))\\w+|' +
    '\\w*(CERT|SIGNATURE)\\w*)$',
);

/** A request without an answer of HTTP. */
export function noAnswer(endpoint: string, error: unknown): EtcdFailure {
  const { cause, name, message } = error as Error;
  // `fetch` names the reason as a cause
  const inner = (cause ?? error) as Error & { code?: string; errors?: readonly Error[] };
  const { code = '' } = inner;
  const words = inner.message || inner.errors?.[0]?.message || message;
  const said = name === 'AbortError' ? 'no answer in time' : words;
  const elsewhere = UNSENT.test(code);
  const advice = /CERT|SIGNATURE|ALTNAME/.test(code)
    ? '; give the certificate of its authority with NODE_EXTRA_CA_CERTS or the option "fetch"'
    : '';
  return new EtcdFailure({ kind: 'unanswered', elsewhere }, `${endpoint}: ${said}${advice}`, error);
}

/** The body of an error. Those of a stream have other names. */
interface ErrorBody {
  readonly code?: number;
  readonly grpc_code?: number;
  readonly message?: string;
  readonly error?: string;
}

/** An answer of HTTP that says that the request failed. */
export function refusal(endpoint: string, status: number, text: string): EtcdFailure {
  const body = bodyOf(text);
  const words = body?.message ?? body?.error ?? `HTTP ${status} ${text.trim().slice(0, 100)}`;
  const code = body?.code ?? body?.grpc_code;
  const meaning = code === undefined ? ofStatus(status) : meaningOf(code, words);
  return new EtcdFailure(meaning, `${endpoint}: ${words}${adviceOn(status, words)}`);
}

function bodyOf(text: string): ErrorBody | undefined {
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    return undefined;
  }
}

/** An answer that is not of etcd, but perhaps of a proxy, which limits the rate of requests. */
function ofStatus(status: number): Meaning {
  if (status === 429) return { kind: 'transient', elsewhere: true };
  return { kind: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unanswered' };
}

/** Errors of gRPC that are found before a request is executed, and that repeat themselves. */
const REFUSED: ReadonlySet<number> = new Set([3, 5, 6, 7, 9, 11, 12]);
/**
 * The member does not execute anything at the moment. One that has stopped is none of these: etcd
 * says so of a change that it proposed before, and that the others may execute.
 */
const ELSEWHERE = /no leader|learner|too many requests|not capable/;

/** What an error of etcd means. */
export function meaningOf(code: number, words: string): Meaning {
  if (/user name is empty/.test(words)) return { kind: 'refused', login: true };
  if (code === 16 || /auth token|auth store is old/.test(words)) {
    return { kind: 'transient', login: true };
  }
  if (ELSEWHERE.test(words)) return { kind: 'transient', elsewhere: true };
  // the change that crosses the quota is made, and answered in the same way as those after it
  if (/space exceeded/.test(words)) return { kind: 'unanswered' };
  if (code === 8) return { kind: / larger than /.test(words) ? 'refused' : 'transient' };
  return { kind: REFUSED.has(code) ? 'refused' : 'unanswered' };
}

function adviceOn(status: number, words: string): string {
  if (/user name is empty/.test(words)) return '; give the options "user" and "password"';
  if (/space exceeded/.test(words)) {
    return '; compact the history, defragment, and remove the alarm (etcdctl alarm disarm)';
  }
  if (/permission denied/.test(words)) {
    return '; the user needs to read and write all keys that begin with the option "root"';
  }
  if (status === 404) {
    return '; is it etcd 3.4 or newer, and is its gateway on (--enable-grpc-gateway)?';
  }
  return '';
}
