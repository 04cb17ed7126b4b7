/**
 * The folder for the sockets of messages, beside the file: `locks.db-wake`. Only its owner may use
 * it. A socket has a short name that comes from its channel, and lives as long as its process. One
 * of a process that was killed refuses connections, and is removed later.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { RegisterError } from 'holdfast/register';

/** The most bytes of the path of a socket: Linux has 107, and others 103. */
const PATH_MAX = 103;
/** A socket is bound before it takes connections, so a new one is not removed, in ms. */
const NEW_MS = 60_000;
/** The most sockets that are looked at. */
const TIDY_MAX = 100;

/** What a connection attempt found. */
export type Probed = 'open' | 'refused' | 'missing' | 'unknown';

export class WakeFolder {
  readonly #file: string;
  #descriptor: number | undefined;
  #isTidy = false;

  /** @param file the path of the database */
  constructor(file: string) {
    this.#file = file;
  }

  /** Creates the folder. Throws if it is not that of this user. */
  prepare(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    if (this.isOwn()) return;
    const why = `${this.path} must be a folder of this user, with the mode 0700`;
    throw new RegisterError('transient', `no sockets for messages: ${why}`);
  }

  isOwn(): boolean {
    const found = lstatSync(this.path, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true) return false;
    return found.uid === process.getuid?.() && (found.mode & 0o77) === 0;
  }

  /** Beside the file itself, if a link leads to it. */
  get path(): string {
    try {
      return `${realpathSync(this.#file)}-wake`;
    } catch {
      return join(realpathSync(dirname(this.#file)), `${basename(this.#file)}-wake`);
    }
  }

  socketOf(channel: string): string {
    const name = createHash('sha256').update(channel).digest('hex').slice(0, 16);
    return join(this.path, name);
  }

  /** The socket, by a path that is short enough for the system. */
  addressOf(socket: string): string {
    if (Buffer.byteLength(socket) <= PATH_MAX) return socket;
    if (process.platform !== 'linux') {
      const why = `the path is longer than ${PATH_MAX} bytes: ${socket}`;
      throw new RegisterError('transient', `no sockets for messages: ${why}`);
    }
    const folder = dirname(socket);
    if (this.#descriptor === undefined || !leadsTo(this.#descriptor, folder)) {
      this.close();
      this.#descriptor = openSync(folder, 'r');
    }
    return `/proc/self/fd/${this.#descriptor}/${basename(socket)}`;
  }

  /** Sockets that are bound or connected go on. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Tries to connect to a socket. */
  async probe(socket: string): Promise<Probed> {
    const address = this.addressOf(socket);
    return new Promise((resolve) => {
      const probe = connect(address);
      probe.on('connect', () => resolve('open'));
      probe.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') resolve('refused');
        else resolve(error.code === 'ENOENT' ? 'missing' : 'unknown');
      });
      probe.on('connect', () => probe.destroy());
    });
  }

  /** Removes sockets of processes that were killed. Never rejects. */
  async tidy(): Promise<void> {
    if (this.#isTidy) return;
    this.#isTidy = true;
    try {
      const before = Date.now() - NEW_MS;
      const names = readdirSync(this.path).filter((name) => /^[0-9a-f]{16}$/.test(name));
      for (const name of names.slice(0, TIDY_MAX)) {
        const socket = join(this.path, name);
        const { mtimeMs = before } = statSync(socket, { throwIfNoEntry: false }) ?? {};
        if (mtimeMs >= before || (await this.probe(socket)) !== 'refused') continue;
        rmSync(socket, { force: true });
      }
    } catch {
      // another process removes them
    }
  }
}

function leadsTo(descriptor: number, folder: string): boolean {
  const [one, other] = [`/proc/self/fd/${descriptor}/.`, folder].map((path) =>
    statSync(path, { throwIfNoEntry: false }),
  );
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}
