/** Installs the other libraries into their own folder: the workspace does not depend on them. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PINNED = fileURLToPath(new URL('../peers/', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../.cache/bench-peers/', import.meta.url));
const INSTALL_MS = 300_000;

/** A module of the folder resolves names there. */
const LOAD = 'export const load = (name) => import(name);\n';

/** The folder, and the versions of the libraries. */
export interface Peers {
  readonly folder: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** Installs exactly the pinned versions, unless they are installed already. */
export function installPeers(): Peers {
  const lock = readFileSync(join(PINNED, 'package-lock.json'), 'utf8');
  const done = join(FOLDER, 'installed.json');
  if (!existsSync(done) || readFileSync(done, 'utf8') !== lock) {
    mkdirSync(FOLDER, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) {
      copyFileSync(join(PINNED, file), join(FOLDER, file));
    }
    // some peers name peer dependencies that the bench does not need (other clients, a compiler),
    // or a newer Node; `npm run` passes the strict setting of the workspace on
    const lenient = ['--legacy-peer-deps', '--engine-strict=false'];
    const words = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    execFileSync('npm', [...words, ...lenient], {
      cwd: FOLDER,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_MS,
    });
    writeFileSync(done, lock);
  }
  writeFileSync(join(FOLDER, 'load.js'), LOAD);
  const { dependencies } = JSON.parse(readFileSync(join(PINNED, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return { folder: FOLDER, versions: dependencies };
}
