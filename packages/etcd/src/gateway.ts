/**
 * The JSON gateway of etcd: requests to one endpoint after another, with a token if etcd has
 * authentication, and the time of each answer.
 *
 * A request goes to another endpoint only if the first one did not execute it. So a change is sent
 * once; a read may be repeated.
 */
import type { Socket } from 'node:net';
import { RegisterError } from 'holdfast/register';
import { clockOf, Clocks, type Moment } from './clocks.js';
import { EtcdFailure, refusal } from './failures.js';
import type { Settings } from './options.js';
import { Ticks } from './ticks.js';
import { send, type Sending, start } from './transport.js';

/** An answer, as JSON, and the clock of the register in microseconds. */
export interface Answer<T> {
  readonly body: T;
  /** The clock was not behind this when the answer came. */
  readonly time: number;
  /** The clock was not ahead of this when the request was sent. */
  readonly latest: number;
}

/** Its reason is often a proxy. */
const NO_DATE = 'the answer has no header Date, so the time is not known';

type Asked = Omit<Sending, 'fetch' | 'endpoint'>;

/** A request that may be sent again if no answer came. */
export type Repeatable = 'read' | 'change';

export class Gateway {
  readonly endpoints: readonly string[];
  readonly clocks: Clocks;
  readonly #settings: Settings;
  readonly #ticks: Ticks;
  /** The longest time of an attempt in ms: another endpoint needs some time too. */
  readonly #attemptMs: number;
  #current: number;
  #token: Promise<string> | undefined;
  #trouble: string | undefined;

  constructor(endpoints: readonly string[], settings: Settings) {
    this.endpoints = endpoints;
    this.#settings = settings;
    this.#current = Math.floor(Math.random() * endpoints.length);
    this.#attemptMs = endpoints.length === 1 ? settings.timeout : settings.timeout / 2;
    const clocks = new Clocks(endpoints.map((one) => clockOf(settings.fetch, one)));
    this.clocks = clocks;
    this.#ticks = new Ticks({
      ...{ clocks, count: endpoints.length },
      probe: async (at) => {
        const ms = Math.min(1000, settings.timeout);
        await this.#send(at, { path: '/version', ms, headers: { 'cache-control': 'no-cache' } });
      },
    });
  }

  /** The words of the last failure, if no request succeeded since. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Waits until the clocks are known, or none can be. */
  async ready(): Promise<void> {
    await this.#ticks.ready()?.catch(() => undefined);
  }

  /** A request, and the time of its answer. */
  async call<T>(path: string, body: object, kind: Repeatable): Promise<Answer<T>> {
    const sent = await this.#whenReady();
    const answer = await this.#try<T>(path, JSON.stringify(body), kind, sent);
    // the answer itself may have shown that the clock was not known
    const got = await this.#whenReady();
    const [now, then] = [this.clocks.median(got), this.clocks.median(sent)];
    if (now === undefined || then === undefined) {
      throw new RegisterError('unanswered', 'the clocks of the endpoints are not known');
    }
    const time = Math.floor((got.at + now.lower) * 1000);
    return { body: answer, time, latest: Math.ceil((sent.at + then.upper) * 1000) };
  }

  /** The moment from which on the clocks are known. */
  #whenReady(): Moment | Promise<Moment> {
    const now = this.clocks.now();
    return this.#ticks.ready(now)?.then(() => this.clocks.now()) ?? now;
  }

  /** A request to one endpoint, without its time. */
  async ask<T>(at: number, path: string, body: object): Promise<T> {
    return this.#once<T>(at, { path, body: JSON.stringify(body), ms: this.#attemptMs });
  }

  /** A request whose answer is a stream. It goes to the endpoint of the other requests. */
  async stream(
    path: string,
    body: object,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const at = this.#current;
    const login = this.#login(at);
    // the stream ends if this member loses its leader
    const headers = { 'grpc-metadata-hasleader': 'true', ...authorization(await login) };
    const sending = { ...this.#to(at), path: `/v3/${path}`, body: JSON.stringify(body), headers };
    const response = await start(sending, { signal });
    if (response.status === 200 && response.body !== null) {
      // tasks that wait have timers; a held lease alone keeps no process
      (response.body as { readonly socket?: Socket }).socket?.unref();
      return response.body;
    }
    const failure = refusal(sending.endpoint, response.status, await response.text());
    this.#failed(failure, login);
    throw failure;
  }

  /** A token that is not valid any more is not used again. */
  forget(failure: unknown): void {
    this.#failed(failure, this.#token);
  }

  /** A stream failed: the next one, and all other requests, go to another endpoint. */
  leave(): void {
    this.#current = (this.#current + 1) % this.endpoints.length;
  }

  close(): void {
    this.#ticks.close();
    this.#token = undefined;
  }

  async #try<T>(path: string, body: string, kind: Repeatable, { at: began }: Moment): Promise<T> {
    const { timeout, login } = this.#settings;
    let mayLogin = login !== undefined;
    let left = timeout;
    for (let tries = 1; ; tries += 1) {
      const at = this.#current;
      const ms = Math.max(1, Math.min(this.#attemptMs, left));
      try {
        const answer = await this.#once<T>(at, { path, body, ms });
        this.#trouble = undefined;
        return answer;
      } catch (error) {
        const failure = error as EtcdFailure;
        this.#trouble = failure.message;
        left = began + timeout - this.clocks.now().at;
        if (failure.login && mayLogin) {
          mayLogin = false;
          tries -= 1;
          continue;
        }
        if (failure.kind === 'refused') throw failure;
        if (this.#current === at) this.leave();
        const mayRepeat = failure.elsewhere || (kind === 'read' && failure.kind === 'unanswered');
        if (!mayRepeat || left <= 0 || tries >= this.endpoints.length) throw failure;
      }
    }
  }

  async #once<T>(at: number, { path, body, ms }: Asked): Promise<T> {
    const login = this.#login(at);
    const headers = authorization(typeof login === 'string' ? login : await login);
    try {
      const text = await this.#send(at, { path: `/v3/${path}`, body, ms, headers });
      return parsed<T>(text, this.endpoints[at] as string);
    } catch (error) {
      this.#failed(error, login);
      throw error;
    }
  }

  #failed(failure: unknown, login: Promise<string> | string | undefined): void {
    // others may have a new token by now
    const isOld = failure instanceof EtcdFailure && failure.login && this.#token === login;
    if (isOld) this.#token = undefined;
  }

  #to(at: number): Pick<Sending, 'fetch' | 'endpoint'> & { ms: number } {
    const { fetch, timeout } = this.#settings;
    return { fetch, endpoint: this.endpoints[at] as string, ms: timeout };
  }

  #send(at: number, { path, body, headers, ms }: Asked): Promise<string> {
    const sent = this.clocks.now();
    const { fetch, endpoint } = this.#to(at);
    return send({ fetch, endpoint, path, body, headers, ms }, (date) => {
      if (date === null) this.#trouble = `${endpoint}: ${NO_DATE}`;
      this.clocks.saw(at, date, sent);
    });
  }

  /** The token; an empty text if there is none. */
  #login(at: number): Promise<string> | string {
    const { login } = this.#settings;
    if (login === undefined) return '';
    const token = (this.#token ??= this.#authenticate(at, login));
    token.catch(() => {
      if (this.#token === token) this.#token = undefined;
    });
    return token;
  }

  async #authenticate(at: number, login: object): Promise<string> {
    try {
      const path = '/v3/auth/authenticate';
      const sending = { path, body: JSON.stringify(login), ms: this.#attemptMs };
      const { token } = JSON.parse(await this.#send(at, sending)) as { token?: string };
      return token ?? '';
    } catch (error) {
      const failure = error as EtcdFailure;
      if (/authentication is not enabled/.test(failure.message)) return '';
      // the request itself was not sent
      throw failure.kind === 'refused'
        ? failure
        : new EtcdFailure({ kind: failure.kind, elsewhere: true }, failure.message, failure);
    }
  }
}

const authorization = (token: string): Record<string, string> | undefined =>
  token === '' ? undefined : { authorization: token };

/** All answers of etcd have a header. One without it may come from a proxy. */
function parsed<T>(text: string, endpoint: string): T {
  try {
    const answer = JSON.parse(text) as { readonly header: object };
    if (typeof answer.header === 'object') return answer as T;
  } catch {
    // it is no JSON
  }
  const message = `${endpoint}: the answer is not that of etcd: ${text.slice(0, 100)}`;
  throw new EtcdFailure({ kind: 'unanswered' }, message);
}
