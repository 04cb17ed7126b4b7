/** The adapter of valkey-glide, loaded with its first client. */
import { scriptWords } from './common.js';
import type { scanMasters } from './cluster.js';
import type { GlideAdapter, GlideLike } from './glide.js';
import { outboxOf, ReplyError, type Route, routeTo, send } from './glide-commands.js';
import { EXACT, SHARDED, subscribe } from './glide-subscription.js';
import type { CallTerms } from './port.js';
import { slotOf } from './hash-slot.js';
import { scanPage } from './scan.js';

/** The slots are read again after so many: the client tells of no move. */
const COMMANDS_MAX = 500;

/** @param scan given, so that a bundler leaves it with the other adapters */
export function glideAdapter(client: GlideLike, scan: typeof scanMasters): GlideAdapter {
  const outbox = outboxOf(client);
  const slots = 'ssubscribe' in client ? new Slots(client) : undefined;

  const call = (
    words: readonly string[],
    keys: readonly string[],
    args: readonly string[],
    { names = keys.slice(0, 1) }: CallTerms = {},
  ): Promise<unknown> => {
    const [key = ''] = names;
    const all = scriptWords(words, '', keys, args);
    return outbox.add(names, async () => {
      if (slots === undefined) return send(client, all);
      await slots.known;
      return slots.send(key, all, keys);
    });
  };
  return {
    evalsha: (calls) => calls.map((one) => call(['EVALSHA', one.sha], one.keys, one.args, one)),
    eval: (source, keys, args, of) => call(['EVAL', source], keys, args, of),

    async scan(cursor, ...page) {
      if (slots === undefined) return scanPage((words) => send(client, words), cursor, ...page);
      await slots.known;
      return scan(slots.masters(), cursor, (address, at) =>
        scanPage((words) => send(client, words, routeTo(address)), at, ...page),
      );
    },

    subscribe: (channel, listener) =>
      subscribe(client, channel, EXACT, {
        message: (payload) => listener.message(payload),
        lost: () => listener.down(),
        restored: () => listener.up(),
      }),

    state: () => {
      const closed = (client as { isClosed?: boolean }).isClosed === true;
      return closed ? { closed, text: 'the client is closed: close() was called' } : undefined;
    },
    delay: () => 'the client does not tell whether it is connected',

    view: {
      // the client does not know every address; then the first name leads to the node
      ...{ takesAddress: true, triesAgain: true },
      masters: () => slots?.masters() ?? [],
      masterOf: (slot) => slots?.owners[slot],
      refresh: async (silent) => slots?.refresh(silent),
      subscribe: (_, channel, listener) =>
        subscribe(client, channel, SHARDED, {
          message: (payload) => listener.message(payload),
          lost: () => listener.over(),
        }),
    },
  };
}

/** Fails at a node that does not serve each of these names. */
const SERVES = "for _, name in ipairs(ARGV) do redis.call('EXISTS', name) end";

/** The client does not show the masters. */
class Slots {
  owners: readonly (string | undefined)[] = [];
  readonly known: Promise<void>;
  readonly #client: GlideLike;
  /**
   * After a silence: the client goes on to use a frozen master whose replica took over.
   */
  #named = false;
  #reading: Promise<void> | undefined;
  #commands = 0;
  /** They may be half-moved: a call was not answered. */
  readonly #suspects = new Set<number>();

  constructor(client: GlideLike) {
    this.#client = client;
    this.known = this.read();
  }

  masters(): string[] {
    return [...new Set(this.owners)].filter((one) => one !== undefined);
  }

  async send(key: string, words: readonly string[], keys: readonly string[]): Promise<unknown> {
    this.#commands += 1;
    if (this.#commands % COMMANDS_MAX === 0) void this.read();
    const slot = slotOf(key);
    const owner = this.owners[slot];
    if (keys.length > 1 && owner !== undefined && this.#suspects.has(slot)) {
      await this.#serves(owner, keys);
      this.#suspects.delete(slot);
    }
    const named = this.#named && owner !== undefined;
    const route: Route = named ? routeTo(owner) : { type: 'primarySlotKey', key };
    try {
      return await send(this.#client, words, route);
    } catch (error) {
      if (!(error instanceof ReplyError)) {
        this.#suspects.add(slot);
        this.#failed(named, owner);
      }
      throw error;
    }
  }

  /** The client would repeat a call with several keys until its time limit. */
  async #serves(owner: string, keys: readonly string[]): Promise<void> {
    try {
      await send(this.#client, ['EVAL', SERVES, '0', ...keys], routeTo(owner));
    } catch (error) {
      // it may have moved
      void this.read();
      if (error instanceof ReplyError) throw new ReplyError(`TRYAGAIN ${error.message}`);
      throw error;
    }
  }

  /** The client chooses the node for an unknown address. */
  #failed(named: boolean, owner: string | undefined): void {
    if (named) this.#named = false;
    else if (owner !== undefined) void this.refresh(owner);
  }

  async refresh(silent: string): Promise<void> {
    const other = this.masters().find((address) => address !== silent);
    await this.read(other === undefined ? undefined : routeTo(other));
    this.#named = silent !== '';
  }

  /** Never rejects. */
  read(route?: Route): Promise<void> {
    this.#reading ??= this.#read(route).then(
      () => {
        this.#reading = undefined;
      },
      () => {
        this.#reading = undefined;
      },
    );
    return this.#reading;
  }

  async #read(route?: Route): Promise<void> {
    const ranges = (await send(this.#client, ['CLUSTER', 'SLOTS'], route)) as [
      number,
      number,
      [string | null, number, string, { key: string; value: string }[]?],
    ][];
    const owners: string[] = [];
    for (const [from, to, [named, port, , more = []]] of ranges) {
      // the client knows a node without a name by these
      const other = (name: string): string | undefined =>
        more.find(({ key }) => key === name)?.value;
      const host = named || (other('hostname') ?? other('ip'));
      for (let slot = Number(from); slot <= Number(to); slot++) owners[slot] = `${host}:${port}`;
    }
    this.owners = owners;
  }
}
