/** The page of the clients names the versions that the package accepts. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

it('docs/clients.md names each client with its versions', () => {
  const { peerDependencies } = JSON.parse(read('../../package.json')) as {
    peerDependencies: Record<string, string>;
  };
  const page = read('../../../../docs/clients.md');
  for (const [name, range] of Object.entries(peerDependencies)) {
    const versions = [...range.matchAll(/\^(\d+)\./g)].map(([, version]) => version).join(' and ');
    expect(page).toContain(`| ${versions} | \`npm install holdfast ${name}\` |`);
  }
});
