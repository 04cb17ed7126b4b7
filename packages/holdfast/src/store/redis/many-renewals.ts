/**
 * Renewal of several leases with one script call ([decision
 * 12](../../../../../docs/decisions/0012-batched-renewal.md)).
 *
 * The first call names the main record of each resource: enough for the only lease of a mutex
 * without waiters. A second call with all keys renews the others. On a cluster a call names one key
 * of its node; a lease whose slot has moved, or that the call did not find, is renewed alone
 * ([decision 17](../../../../../docs/decisions/0017-cluster.md)).
 *
 * After CROSSSLOT (the client of one node of a cluster), each lease has its own call.
 */
import type { ClientPort, ScriptCall } from '../clients/port.js';
import type { Renew, RenewMany, RenewManyReply, RenewReply } from '../../engine/commands.js';
import { FAILED, StoreFailure } from '../port.js';
import { codeOf, renewSingly } from '../renew-singly.js';
import { isNoScript } from './error-replies.js';
import type { OneServer } from './one-server.js';
import { scripts } from './generated/scripts.js';
import { keysOf, mainKeyOf } from './keys.js';
import type { ScriptLoader } from './script-loader.js';

const ABSENT = 0;
/** The lease is unchanged, and needs all keys. */
const NEEDS_ALL_KEYS = -2;
const WHOLE_MAX = 100;

export interface RenewalStore {
  readonly client: ClientPort;
  readonly prefix: string;
  readonly loader: ScriptLoader;
  readonly oneServer: OneServer;
  readonly renew: (command: Renew) => Promise<RenewReply>;
  readonly failure: (error: unknown) => Promise<StoreFailure>;
}

export class ManyRenewals {
  readonly #store: RenewalStore;
  /** A call may name keys of one resource only. */
  #apart = false;

  constructor(store: RenewalStore) {
    this.#store = store;
  }

  async renew(command: RenewMany): Promise<RenewManyReply> {
    const { prefix, oneServer } = this.#store;
    const mayName = this.#clustered || command.keys.length === 1 || oneServer.isProven();
    if (this.#apart || !mayName) return renewSingly(command, this.#store.renew);
    try {
      const names = command.keys.map((key) => mainKeyOf(prefix, key));
      const reply = await this.#call(command, names);
      const rest = reply.left.includes(NEEDS_ALL_KEYS);
      const done = rest ? await this.#renewRest(command, reply) : reply;
      return this.#clustered ? await this.#renewFailed(command, done) : done;
    } catch (error) {
      if (!(error instanceof StoreFailure && error.message.startsWith('CROSSSLOT'))) throw error;
      this.#apart = true;
      return renewSingly(command, this.#store.renew);
    }
  }

  /** Renews with the main record; `undefined` if the lease needs all keys. */
  async one({ key, id, ttl, retention }: Renew): Promise<RenewReply | undefined> {
    const command = { op: 'renewMany', keys: [key], ids: [id], ttl, retention } as const;
    const {
      now,
      left: [left = FAILED],
    } = await this.#call(command, [mainKeyOf(this.#store.prefix, key)]);
    if (left < ABSENT) return undefined;
    return { status: left === ABSENT ? 'absent' : 'renewed', now, left };
  }

  get #clustered(): boolean {
    const { cluster } = this.#store.client;
    return cluster !== undefined && cluster.changesKeys !== true;
  }

  /** Renews leases that the script could not use or find: their slots may have moved. */
  async #renewFailed(command: RenewMany, reply: RenewManyReply): Promise<RenewManyReply> {
    const places = reply.left.flatMap((one, index) =>
      one === FAILED || one === ABSENT ? [index] : [],
    );
    if (places.length === 0) return reply;
    const all = await Promise.all(
      places.map((place) => {
        const [key, id] = [command.keys[place] as string, command.ids[place] as string];
        return this.#renewAlone({ ...command, keys: [key], ids: [id] }, key);
      }),
    );
    const left = [...reply.left];
    for (const [index, place] of places.entries()) left[place] = all[index]?.left[0] as number;
    const failure = all.find((one) => one.failure !== undefined)?.failure ?? reply.failure;
    return { ...reply, left, ...(failure && { failure }) };
  }

  /** With the main record first: the slot may be half-moved. */
  async #renewAlone(command: RenewMany, key: string): Promise<RenewManyReply> {
    const reply = await this.#call(command, [mainKeyOf(this.#store.prefix, key)]).catch(() => null);
    const [left = FAILED] = reply?.left ?? [];
    if (reply !== null && left !== FAILED && left !== NEEDS_ALL_KEYS) return reply;
    return renewSingly(command, this.#store.renew);
  }

  async #renewRest(command: RenewMany, { now, left }: RenewManyReply): Promise<RenewManyReply> {
    const all = [...left];
    const rest = all.flatMap((one, index) => (one === NEEDS_ALL_KEYS ? [index] : []));
    const parts: Promise<Error | undefined>[] = [];
    for (let from = 0; from < rest.length; from += WHOLE_MAX) {
      parts.push(this.#renewWhole(command, rest.slice(from, from + WHOLE_MAX), all));
    }
    const failure = (await Promise.all(parts)).find((error) => error !== undefined);
    return { status: 'renewals', now, left: all, ...(failure && { failure }) };
  }

  /**
   * Renews with all keys; writes the results at some places of `left`. Resolves to the failure, if
   * any.
   */
  async #renewWhole(
    command: RenewMany,
    places: number[],
    left: number[],
  ): Promise<Error | undefined> {
    const keys = places.map((place) => command.keys[place] as string);
    const ids = places.map((place) => command.ids[place] as string);
    const names = keys.flatMap((key) => keysOf(this.#store.prefix, key));
    let done: readonly number[];
    let failure: Error | undefined;
    try {
      done = (await this.#call({ ...command, keys, ids }, names)).left;
    } catch (error) {
      // the other leases are renewed
      done = keys.map(() => codeOf(error));
      failure = error as Error;
    }
    for (const [index, place] of places.entries()) left[place] = done[index] as number;
    return failure;
  }

  async #call(command: RenewMany, names: readonly string[]): Promise<RenewManyReply> {
    const { client, loader, failure } = this.#store;
    const { sha } = scripts.renewMany;
    const call: ScriptCall = this.#clustered
      ? { sha, keys: names.slice(0, 1), args: argsOf(command, names, client.keyPrefix) }
      : { sha, keys: names, args: argsOf(command) };
    const [answer] = client.evalsha([call]) as [Promise<unknown>];
    const raw = await answer.catch(async (error: unknown) => {
      if (!isNoScript(error)) throw await failure(error);
      return loader.repeat(call, scripts.renewMany).catch(async (second: unknown) => {
        throw await failure(second);
      });
    });
    return renewalsOf(command, raw);
  }
}

/** @param names of the keys, if they are arguments. The client adds its prefix only to keys. */
export function argsOf(
  { ttl, retention, ids }: RenewMany,
  names: readonly string[] = [],
  prefix = '',
): string[] {
  const named = prefix === '' ? names : names.map((name) => prefix + name);
  return [`${ttl}`, `${retention}`, `${names.length}`, ...named, ...ids];
}

/** The result names only leases with another time left than `ttl`. */
export function renewalsOf({ ids, ttl }: RenewMany, raw: unknown): RenewManyReply {
  const [now, ...exceptions] = Array.isArray(raw) ? raw.map(Number) : [];
  const left = ids.map(() => ttl * 1000);
  for (let at = 0; at < exceptions.length; at += 2) {
    const place = (exceptions[at] as number) - 1;
    const value = exceptions[at + 1] ?? Number.NaN;
    if (!(place in left) || !Number.isSafeInteger(value)) throw malformed(raw);
    left[place] = value;
  }
  if (now === undefined || !Number.isSafeInteger(now)) throw malformed(raw);
  return { status: 'renewals', now, left };
}

function malformed(raw: unknown): StoreFailure {
  const message = `not a reply to renewMany: ${String(JSON.stringify(raw)).slice(0, 200)}`;
  return new StoreFailure(message, 'unanswered', undefined);
}
