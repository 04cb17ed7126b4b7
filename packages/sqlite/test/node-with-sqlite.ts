/** A version of Node that has `node:sqlite`: this one, or one from the package registry. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { arch, execPath, platform } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const VERSION = '24.9.0';
const folder = fileURLToPath(new URL('../../../.cache/node-with-sqlite', import.meta.url));

let found: Promise<string> | undefined;

/** The path of its program. */
export function nodeWithSqlite(): Promise<string> {
  return (found ??= isBuiltin('node:sqlite') ? Promise.resolve(execPath) : installed());
}

async function installed(): Promise<string> {
  const program = `${folder}/node_modules/node-${VERSION}/bin/node`;
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const name = `node-${VERSION}@npm:node-${platform}-${arch}@${VERSION}`;
  const how = ['--no-audit', '--no-fund', '--no-save', '--prefer-offline', '--prefix', folder];
  await promisify(execFile)('npm', ['install', name, ...how], { cwd: folder });
  return program;
}
