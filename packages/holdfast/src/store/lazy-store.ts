/**
 * A store whose code is loaded with its first command, so a program carries only the stores that it
 * uses.
 *
 *     named --first command--> loading --loaded--> used
 *       \-------------failed------/
 *
 * A process with a lease has loaded it, so renewal, release and the report of a loss never load
 * anything here.
 */
import type { Command, Reply } from '../engine/commands.js';
import type { Examination, ExamineTerms } from './finding.js';
import { watchErrors } from './clients/state.js';
import {
  type AcknowledgeTerms,
  type Store,
  StoreFailure,
  type TimeLimit,
  type WakeChannel,
  type WakeListener,
} from './port.js';
import type { ServerInfo } from './server-info.js';

export interface LazyParts {
  readonly label: string;
  readonly acknowledges: boolean;
  readonly clients: readonly object[];
  load(prefix: string): Promise<Store>;
}

export class LazyStore implements Store {
  readonly label: string;
  readonly #parts: LazyParts;
  readonly #prefix: string;
  #store: Store | undefined;
  /** These members are on the way of each command, so they are the loaded store's. */
  shardOf: Store['shardOf'];
  post?: NonNullable<Store['post']>;
  connection: NonNullable<Store['connection']> = () => this;
  #loading: Promise<Store> | undefined;

  constructor(parts: LazyParts, prefix: string) {
    this.label = parts.label;
    this.#parts = parts;
    this.#prefix = prefix;
  }

  space(prefix: string): LazyStore {
    return new LazyStore(this.#parts, prefix);
  }

  acknowledged(terms: AcknowledgeTerms): Store | undefined {
    const { label, acknowledges, clients } = this.#parts;
    if (!acknowledges) return undefined;
    const load = async (prefix: string): Promise<Store> =>
      (await this.#parts.load(prefix)).acknowledged?.(terms) as Store;
    return new LazyStore({ label, acknowledges: false, clients, load }, this.#prefix);
  }

  get writesLater(): boolean {
    return this.#store === undefined || this.#store.writesLater === true;
  }

  get joins(): boolean {
    return this.#store?.joins === true;
  }

  async written(): Promise<void> {
    await (await this.#loaded()).written?.();
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    if (this.#store !== undefined) return this.#store.execute(batch);
    const answers = this.#loaded().then((store) => store.execute(batch));
    return batch.map(async (_, at) => (await answers)[at] as Promise<Reply>);
  }

  async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    return (await this.#loaded()).listen(name, listener);
  }

  async *keys(pattern: string, within: TimeLimit): AsyncIterable<string> {
    yield* (await within(this.#loaded())).keys(pattern, within);
  }

  unanswered(command?: Command): Promise<string | undefined> | undefined {
    return this.#store?.unanswered?.(command);
  }

  trouble(): string | undefined {
    return this.#store?.trouble?.();
  }

  blockedBy(): string | undefined {
    return this.#store?.blockedBy?.();
  }

  wrongClocks(): string | undefined {
    return this.#store?.wrongClocks?.();
  }

  servers(): readonly ServerInfo[] | undefined {
    return this.#store?.servers?.();
  }

  async examine(terms: ExamineTerms): Promise<Examination> {
    return (await this.#loaded()).examine?.(terms) as Promise<Examination>;
  }

  use(): void {
    for (const client of this.#parts.clients) watchErrors(client);
  }

  async dispose(): Promise<void> {
    for (const client of this.#parts.clients) watchErrors(client, -1);
    const store = await this.#loading?.catch(() => undefined);
    await store?.dispose?.();
  }

  #loaded(): Promise<Store> {
    if (this.#loading !== undefined) return this.#loading;
    const loading = this.#parts.load(this.#prefix).catch((error: unknown) => {
      this.#loading = undefined;
      throw new StoreFailure(notLoaded(error), 'unanswered', error);
    });
    this.#loading = loading;
    // first: commands that wait for the code are executed before later ones
    loading.then(
      (store) => {
        this.#store = store;
        this.shardOf = store.shardOf;
        if (store.post !== undefined) this.post = store.post.bind(store);
        this.connection = connectionOf(store, this);
      },
      () => undefined,
    );
    return loading;
  }
}

/**
 * Commands that waited for the code are sent after this call, so the first connection has the name
 * that they saw.
 */
function connectionOf(store: Store, name: object): () => unknown {
  if (store.connection === undefined) return () => undefined;
  const connection = store.connection.bind(store);
  const first = connection();
  if (first === undefined) return connection;
  return () => {
    const now = connection();
    return now === first ? name : now;
  };
}

function notLoaded(cause: unknown): string {
  const why = cause instanceof Error ? cause.message : String(cause);
  return (
    `the code of the store was not loaded: ${why}. If the files of this program were replaced ` +
    'while it runs, restart it'
  );
}
