/**
 * Mistakes of the packages for other stores. The torture of that store finds them; the simulator
 * does not run these packages.
 */
import type { Edit, Mutant, StorePackage } from '../mutant.js';

const edit = (of: StorePackage, file: string, find: string, replace: string): Edit => {
  return { of, file, find, replace };
};

const POSTGRES: readonly Mutant[] = [
  {
    name: 'any version is replaced',
    mistake: 'a swap replaces a state that another process has changed',
    edits: [
      edit(
        'postgres',
        'sql.js',
        "'key = $1::text AND version = $2::text::uuid'",
        "'key = $1::text AND $2::text IS NOT NULL'",
      ),
    ],
  },
  {
    name: 'a grant passes a guard',
    mistake: 'a grant takes the lock of a row that does not conflict with that of a guard',
    edits: [
      edit(
        'postgres',
        'sql.js',
        'WHERE ${same} FOR UPDATE SKIP LOCKED',
        'WHERE ${same} FOR NO KEY UPDATE SKIP LOCKED',
      ),
    ],
  },
];

const SQLITE: readonly Mutant[] = [
  {
    name: 'any version is replaced',
    mistake: 'a swap replaces a state that another process has changed',
    edits: [
      edit(
        'sqlite',
        'sql.js',
        'WHERE key = ? AND version = ?`',
        'WHERE key = ? AND ? IS NOT NULL`',
      ),
    ],
  },
  {
    name: 'the wall clock counts',
    mistake: 'the clock of the leases is the wall clock, which may be set',
    edits: [
      edit('sqlite', 'boot-clock.js', "boot === '' ? wall() : origin + monotonic()", 'wall()'),
    ],
  },
  {
    name: 'a replaced file is not noticed',
    mistake: 'a process goes on with a file that has another name or none',
    edits: [edit('sqlite', 'database.js', 'if (isThere(path, identity))', 'if (true)')],
  },
];

const ETCD: readonly Mutant[] = [
  {
    name: 'any version is replaced',
    mistake: 'a swap replaces a state that another process has changed',
    edits: [
      edit(
        'etcd',
        'etcd-register.js',
        'return { txn: { compare, success }',
        'return { txn: { success }',
      ),
    ],
  },
  {
    name: 'a wrong clock counts',
    mistake: 'the clock of the leases is that of any member instead of the median',
    edits: [
      edit(
        'etcd',
        'clocks.js',
        'const middle = Math.floor((known.length - 1) / 2);',
        'const middle = Math.floor(Math.random() * known.length);',
      ),
    ],
  },
];

export const PACKAGES: Readonly<Record<StorePackage, readonly Mutant[]>> = {
  postgres: POSTGRES,
  sqlite: SQLITE,
  etcd: ETCD,
};
