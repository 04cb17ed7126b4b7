/** The folder of a test file, and registers and instances on files in it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Holdfast, type HoldfastOptions } from 'holdfast';
import { afterAll, afterEach } from 'vitest';
import { type ClientName, sqlite, type SqliteOptions } from '../src/index.js';
import { settingsOf } from '../src/options.js';
import { SqliteRegister } from '../src/sqlite-register.js';

/** By default the one that the package chooses. */
export const client = process.env['HOLDFAST_SQLITE_CLIENT'] as ClientName | undefined;

/** What a test file uses. */
export interface TestFolder {
  readonly path: string;
  /** The path of a new file. */
  file(name?: string): string;
  register(path: string, options?: SqliteOptions): SqliteRegister;
  /** An instance with a connection of its own, as in another process. */
  instance(path: string, options?: HoldfastOptions, store?: SqliteOptions): Holdfast;
  /** Ends something after the test. */
  later(end: () => unknown): void;
}

export function inFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'));
  const ends: (() => unknown)[] = [];
  const instances: Holdfast[] = [];
  let count = 0;
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((one) => one.close({ grace: 0 })));
    for (const end of ends.splice(0)) await end();
  });
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    file: (name = `${(count += 1)}.db`) => join(path, name),
    register(file, options = {}) {
      const register = new SqliteRegister(file, settingsOf({ client, ...options }));
      ends.push(() => register.close());
      return register;
    },
    instance(file, options, store) {
      const instance = new Holdfast(sqlite(file, { client, ...store }), options);
      instances.push(instance);
      return instance;
    },
    later: (end) => void ends.push(end),
  };
}
