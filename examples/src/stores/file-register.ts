/**
 * Locks in a folder, for the processes of one machine: the worked example of docs/register.md.
 *
 *     const holdfast = new Holdfast(register(new FileRegister('locks')));
 *
 * `packages/holdfast/test/server/file-register.test.ts` runs the contract of registers on it, and
 * `test/unit/file-register.orders.test.ts` each order of the steps of several processes.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  type Change,
  type Register,
  RegisterError,
  type RegisterErrorKind,
  type Scanned,
  type Swapped,
  type TimeLimit,
  type Versioned,
} from 'holdfast/register';

/** The text of a file. */
interface Kept {
  readonly key: string;
  readonly version: string;
  readonly state: string;
  readonly forgetAt: number;
}

/** The version of a key without a state. All others are random, so none comes back. */
const NONE = 'none';
const NOTHING: Kept = { key: '', version: NONE, state: '', forgetAt: 0 };
const TRIES = 1000;
const now = (): number => Date.now() * 1000;

export class FileRegister implements Register {
  readonly label: string = 'files';
  readonly #keys: string;
  readonly #new: string;
  readonly #trash: string;

  constructor(root: string) {
    this.#keys = join(root, 'keys');
    this.#new = join(root, 'new');
    this.#trash = join(root, 'trash');
    for (const path of [this.#keys, this.#new, this.#trash]) mkdirSync(path, { recursive: true });
  }

  async read(key: string): Promise<Versioned> {
    return versionedOf(await keptIn(this.#homeOf(key)));
  }

  async swap(key: string, version: string, { state, forgetAt }: Change): Promise<Swapped> {
    const next = randomUUID();
    const text = JSON.stringify({ key, version: next, state, forgetAt } satisfies Kept);
    const home = this.#homeOf(key);
    const isDone = await (version === NONE
      ? this.#create(home, next, text)
      : replace(join(home, version), join(home, next), text));
    return isDone && { version: next, time: now() };
  }

  async *scan(prefix: string, within: TimeLimit): AsyncIterable<Scanned> {
    for (const name of await within(readdir(this.#keys))) {
      const kept = await within(keptIn(join(this.#keys, name)));
      if (kept === NOTHING || !kept.key.startsWith(prefix)) continue;
      yield { key: kept.key, found: versionedOf(kept) };
    }
  }

  /** Removes what may be forgotten, and what killed processes left. Call it each hour. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#keys)) {
      const { version, forgetAt } = await keptIn(join(this.#keys, name));
      if (forgetAt <= now()) await this.#discard(join(this.#keys, name, version));
    }
    for (const name of await readdir(this.#new)) await this.#discard(join(this.#new, name));
    for (const name of await readdir(this.#trash)) {
      await rm(join(this.#trash, name), { recursive: true, force: true });
    }
  }

  /** Renames it, so no reader finds a folder of which a part is removed. */
  async #discard(path: string): Promise<void> {
    await rename(path, join(this.#trash, randomUUID())).catch(falseIf('ENOENT'));
  }

  async #create(home: string, next: string, text: string): Promise<boolean> {
    const made = join(this.#new, next);
    try {
      await mkdir(join(made, next), { recursive: true });
      await writeFile(join(made, next, next), text, { flush: true });
      // takes the place of an empty folder, and of no other
      await rename(made, home);
      return true;
    } catch (error) {
      return falseIf('ENOTEMPTY', 'EEXIST')(error);
    }
  }

  #homeOf(key: string): string {
    return join(this.#keys, createHash('sha256').update(key).digest('hex'));
  }
}

/** The state in the folder of a key. */
async function keptIn(home: string): Promise<Kept> {
  for (let tries = 0; tries < TRIES; tries++) {
    const names = await readdir(home).catch(falseIf('ENOENT'));
    if (names === false) return NOTHING;
    const [version] = names;
    if (version === undefined) {
      // a list may miss a folder that is just renamed, and then this one is not empty
      await rmdir(home).catch(falseIf('ENOENT', 'ENOTEMPTY', 'EEXIST'));
      continue;
    }
    const text = await readFile(join(home, version, version), 'utf8').catch(falseIf('ENOENT'));
    if (text !== false) return JSON.parse(text) as Kept;
  }
  throw new Error(`${home} changed ${TRIES} times while it was read`);
}

async function replace(from: string, to: string, text: string): Promise<boolean> {
  const old = await readdir(from).catch(falseIf('ENOENT'));
  if (old === false) return false;
  try {
    await writeFile(join(from, basename(to)), text, { flush: true });
    await rename(from, to);
  } catch (error) {
    return falseIf('ENOENT')(error);
  }
  // each file that was there before is of a version that is over, or lost the race for it
  for (const name of old) await rm(join(to, name), { force: true });
  return true;
}

function versionedOf({ state, version, forgetAt }: Kept): Versioned {
  const time = now();
  return { state: forgetAt <= time ? '' : state, version, time };
}

/** What errors of the system say. Nothing was changed. */
const KINDS: Readonly<Record<string, RegisterErrorKind>> = {
  ...{ EACCES: 'refused', EPERM: 'refused', EROFS: 'refused' },
  ...{ ENOENT: 'transient', ENOSPC: 'transient' },
};

/** For errors with these codes: another process was first. Throws all others. */
function falseIf(...codes: readonly string[]): (error: unknown) => false {
  return (error) => {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (codes.includes(code)) return false;
    const kind = KINDS[code];
    throw kind === undefined ? error : new RegisterError(kind, message, { cause: error });
  };
}
