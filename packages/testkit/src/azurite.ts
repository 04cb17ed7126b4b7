/**
 * Azurite, the emulator of Azure Blob Storage by Microsoft, and the client of this store. Both are
 * installed from npm when a test needs them, in the versions of `programs/azurite`.
 */
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guard } from './guardian.js';
import { withLock } from './lock.js';
import { until } from './wait.js';

const PINNED = fileURLToPath(new URL('../programs/azurite/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../.cache/', import.meta.url));
const FOLDER = join(CACHE, 'azurite');
const INSTALL_MS = 5 * 60_000;

/** The account that Azurite has, with its published key. */
const ACCOUNT = 'devstoreaccount1';
const KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** A running object store. `await using` stops it. */
export interface Azurite extends AsyncDisposable {
  readonly connectionString: string;
  /** The module `@azure/storage-blob`. */
  readonly sdk: unknown;
}

/** Starts Azurite without objects, and resolves when it listens. */
export async function startAzurite(): Promise<Azurite> {
  await install();
  const main = join(FOLDER, 'node_modules/azurite/dist/src/blob/main.js');
  const args = ['--inMemoryPersistence', '--disableTelemetry', '--skipApiVersionCheck'];
  args.push('--blobHost', '127.0.0.1', '--blobPort', '0');
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  guard(child);
  let [log, gone] = ['', false];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (log += text));
  }
  const exit = new Promise<void>((resolve) => child.once('close', () => resolve()));
  void exit.then(() => (gone = true));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
  };
  const listening = (): string | undefined => {
    return gone ? 'gone' : /listens on (http:\S+)/.exec(log)?.[1];
  };
  try {
    const url = await until(listening, { within: 60_000, every: 20, what: 'Azurite listens' });
    if (gone) throw new Error(`Azurite has ended:\n${log}`);
    const settings = { DefaultEndpointsProtocol: 'http', AccountName: ACCOUNT, AccountKey: KEY };
    const parts = Object.entries({ ...settings, BlobEndpoint: `${url}/${ACCOUNT}` });
    return {
      connectionString: parts.map(([name, value]) => `${name}=${value};`).join(''),
      sdk: createRequire(join(FOLDER, 'package.json'))('@azure/storage-blob'),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Installs exactly the pinned versions, unless they are installed already. */
async function install(): Promise<void> {
  const lock = readFileSync(join(PINNED, 'package-lock.json'), 'utf8');
  const done = join(FOLDER, 'installed.json');
  const installed = (): boolean => existsSync(done) && readFileSync(done, 'utf8') === lock;
  if (installed()) return;
  mkdirSync(CACHE, { recursive: true });
  const signal = AbortSignal.timeout(INSTALL_MS);
  await withLock(join(CACHE, 'azurite.lock'), signal, async () => {
    if (installed()) return;
    cpSync(PINNED, FOLDER, { recursive: true });
    const words = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
    await promisify(execFile)('npm', words, { cwd: FOLDER, signal });
    writeFileSync(done, lock);
  });
}
