/** The adapter of valkey-glide, loaded with the first client of this kind. */
import type { scanMasters } from './cluster.js';
import type { GlideAdapter, GlideLike } from './glide.js';
import { Outbox, type Route, routeTo, send } from './glide-commands.js';
import { EXACT, SHARDED, subscribe } from './glide-subscription.js';
import type { ScanPage } from './port.js';

/** After so many commands the slots are read again: the client does not tell that they moved. */
const COMMANDS_MAX = 500;

/** @param scan given, so that a bundler leaves it in the file of the other adapters */
export function glideAdapter(client: GlideLike, scan: typeof scanMasters): GlideAdapter {
  const outbox = new Outbox();
  const slots = 'ssubscribe' in client ? new Slots(client) : undefined;

  const call = (
    words: readonly string[],
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> => {
    const [key = ''] = keys;
    const route: Route | undefined =
      slots === undefined ? undefined : { type: 'primarySlotKey', key };
    slots?.count();
    const all = [...words, `${keys.length}`, ...keys, ...args];
    return outbox.add(key, async () => {
      await slots?.known;
      return send(client, all, route);
    });
  };
  const scanAt = async (cursor: string, rest: readonly string[], at?: Route): Promise<ScanPage> => {
    const page = (await send(client, ['SCAN', cursor, ...rest], at)) as [unknown, unknown[]];
    return { cursor: String(page[0]), keys: page[1].map(String) };
  };

  return {
    evalsha: (calls) => calls.map(({ args, keys, sha }) => call(['EVALSHA', sha], keys, args)),
    eval: (source, keys, args) => call(['EVAL', source], keys, args),

    async scan(cursor, match, count) {
      const rest = ['MATCH', match, 'COUNT', `${count}`];
      if (slots === undefined) return scanAt(cursor, rest);
      await slots.known;
      return scan(slots.masters(), cursor, (address, at) => {
        return scanAt(at, rest, routeTo(address));
      });
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
      masters: () => slots?.masters() ?? [],
      masterOf: (slot) => slots?.owners[slot],
      refresh: async () => slots?.read(),
      subscribe: (_, channel, listener) =>
        subscribe(client, channel, SHARDED, {
          message: (payload) => listener.message(payload),
          lost: () => listener.over(),
        }),
    },
  };
}

/** The masters of the slots. The client knows them, and does not show them. */
class Slots {
  owners: readonly (string | undefined)[] = [];
  /** Resolves when the slots were read for the first time, or could not be read. */
  readonly known: Promise<void>;
  readonly #client: GlideLike;
  #reading: Promise<void> | undefined;
  #commands = 0;

  constructor(client: GlideLike) {
    this.#client = client;
    this.known = this.read();
  }

  masters(): string[] {
    return [...new Set(this.owners)].filter((one) => one !== undefined);
  }

  count(): void {
    this.#commands += 1;
    if (this.#commands % COMMANDS_MAX === 0) void this.read();
  }

  /** Never rejects. */
  read(): Promise<void> {
    this.#reading ??= this.#read().then(
      () => {
        this.#reading = undefined;
      },
      () => {
        this.#reading = undefined;
      },
    );
    return this.#reading;
  }

  async #read(): Promise<void> {
    const ranges = (await send(this.#client, ['CLUSTER', 'SLOTS'])) as [
      number,
      number,
      [string, number],
    ][];
    const owners: string[] = [];
    for (const [from, to, [host, port]] of ranges) {
      for (let slot = Number(from); slot <= Number(to); slot++) owners[slot] = `${host}:${port}`;
    }
    this.owners = owners;
  }
}
