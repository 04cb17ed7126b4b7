/**
 * The command `node packages/testkit/dist/provision.js`: finds or fetches each server, and prints
 * its version and source.
 */
import { prepare, type ServerName } from './binaries.js';

const names: ServerName[] = ['redis', 'valkey'];
const results = await Promise.allSettled(names.map((name) => prepare(name)));
for (const result of results) {
  if (result.status === 'fulfilled') {
    const { name, version, source } = result.value;
    process.stdout.write(`${name} ${version} (${source})\n`);
  } else {
    process.stderr.write(`${(result.reason as Error).message}\n`);
    process.exitCode = 1;
  }
}
