/**
 * Completes package-lock.json with the packages of other platforms.
 *
 * npm records only the optional packages that the registry offers. A mirror with the packages of
 * one platform leaves entries out, and `npm ci` then fails. The missing entries can be derived:
 * the dependent packages contain exact versions, and the names contain the platform. Their hashes
 * are unknown and left out. With `--check` the tool only reports whether entries are missing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const PATH = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const SYSTEM = /^(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)$/;
const CPU = /^(arm|arm64|ia32|loong64|mips64el|ppc64|riscv64|s390x|x64)$/;
const LIBC = /^(gnu|musl)/;

/**
 * @typedef {object} Entry
 * @property {string} [version]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 * @property {Record<string, string>} [optionalDependencies]
 */

/**
 * The missing entries of a lock file, by path.
 * @param {Record<string, Entry>} packages
 * @returns {Map<string, Entry>}
 */
function missing(packages) {
  /** @type {Map<string, Entry>} */
  const found = new Map();
  for (const [from, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const path = `node_modules/${name}`;
      if (packages[path] !== undefined || packages[`${from}/${path}`] !== undefined) continue;
      found.set(path, entryOf(name, version));
    }
  }
  return found;
}

/**
 * @param {string} name
 * @param {string} version
 * @returns {Entry}
 */
function entryOf(name, version) {
  const words = name.split(/[-/]/);
  const os = words.find((word) => SYSTEM.test(word));
  const cpu = words.find((word) => CPU.test(word));
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    // Without a platform, npm would install it everywhere.
    throw new Error(`cannot derive the platform of ${name}@${version} from its name`);
  }
  const libc = words.map((word) => LIBC.exec(word)?.[1]).find((word) => word !== undefined);
  const entry = { version, cpu: [cpu], dev: true, optional: true, os: [os] };
  return libc === undefined ? entry : { ...entry, libc: [libc === 'gnu' ? 'glibc' : libc] };
}

const lock = JSON.parse(readFileSync(PATH, 'utf8'));
const added = missing(lock.packages);
if (added.size === 0) {
  console.log('package-lock.json is complete');
} else if (argv.includes('--check')) {
  console.error(`package-lock.json has no entries for ${[...added.keys()].join(', ')}`);
  process.exitCode = 1;
} else {
  const entries = [...Object.entries(lock.packages), ...added];
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(entries);
  writeFileSync(PATH, `${JSON.stringify(lock, undefined, 2)}\n`);
  console.log(`package-lock.json: ${added.size} entries added`);
}
