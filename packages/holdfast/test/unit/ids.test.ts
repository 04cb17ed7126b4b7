/** Ids are unique, also in copies of a process. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ids } from '../../src/base/ids.js';
import { Holdfast } from '../../src/index.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const FORM = /^[\w.-]{18,60}$/;

it('ids are unique, also between processes, and contain no space', () => {
  const sources = Array.from({ length: 50 }, () => new Ids());
  const ids = sources.flatMap((source) => Array.from({ length: 200 }, () => source.next()));
  expect(new Set(ids).size).toBe(10_000);
  expect(ids.every((id) => FORM.test(id))).toBe(true);
});

it('ids of one source share its prefix', () => {
  const source = new Ids();
  const ids = [source.next(), source.next(1), source.next(1)];
  expect(ids.every((id) => id.startsWith(`${source.process}.`))).toBe(true);
});

describe('ids of copies', () => {
  it('of a machine differ after a jump of its clocks', () => {
    // The state of a clone: the same random numbers and the same previous ids.
    const clocks = [new VirtualClock(), new VirtualClock()];
    const randomSource = { id: () => 'the-same-for-both', fraction: () => 0.5, secret: () => 's' };
    const copies = clocks.map((clock) => new Ids(randomSource, clock));
    expect(copies.map((ids) => ids.next())).toEqual(Array(2).fill('the-same-for-both.1'));
    clocks[0]?.sleep(5000);
    clocks[1]?.sleep(5001);
    const ids = copies.flatMap((copy) => [copy.next(1), copy.next(1), copy.next(2)]);
    expect(new Set(ids).size).toBe(6);
    expect(ids.every((id) => FORM.test(id))).toBe(true);
  });

  it('change with the first acquisition after that', async () => {
    const clock = new VirtualClock();
    const holdfast = new Holdfast(new WatchedStore(clock), { clock });
    const before = await holdfast.mutex('a').acquire();
    clock.sleep(5000);
    const after = await holdfast.mutex('b').acquire();
    const [process, count] = before.id.split('.');
    expect(after.id.split('.')[0]).toBe(process);
    expect([count, after.id.split('.')[1]?.length]).toEqual(['1', expect.closeTo(20, -1)]);
    expect(await before.verify()).toBe(true);
  });

  it('of a process that starts from one snapshot differ, and so do their secrets', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-snapshot-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const require = createRequire(import.meta.url);
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    const entry = fileURLToPath(new URL('../../src/base/ids.ts', import.meta.url));
    const options = ['--module', 'commonjs', '--target', 'es2022', '--esModuleInterop'];
    const node = (...args: string[]): string =>
      execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    node(tsc, entry, '--ignoreConfig', '--outDir', folder, ...options, '--noCheck');
    // A snapshot is built from one script.
    const modules = ['clock', 'snapshot', 'random-source', 'ids'].map(
      (name) => `modules['./${name}.js'] = (exports, require) => {
        ${readFileSync(join(folder, `${name}.js`), 'utf8')}
      };`,
    );
    const script = `
      const modules = {}, loaded = {};
      const load = (name) => {
        if (modules[name] === undefined) return require(name);
        if (loaded[name] === undefined) modules[name]((loaded[name] = {}), load);
        return loaded[name];
      };
      ${modules.join('\n')}
      const { Ids } = load('./ids.js');
      const { systemRandomSource } = load('./random-source.js');
      const ids = new Ids();
      const before = [ids.next(), systemRandomSource.secret()];
      require('node:v8').startupSnapshot.setDeserializeMainFunction(() => {
        console.log(JSON.stringify([...before, ids.next(), systemRandomSource.secret()]));
      });`;
    writeFileSync(join(folder, 'entry.cjs'), script);
    node('--snapshot-blob', 'blob', '--build-snapshot', 'entry.cjs');
    const copies = [1, 2].map(() => JSON.parse(node('--snapshot-blob', 'blob')) as string[]);
    const [first, second] = copies as [string[], string[]];
    expect(first.slice(0, 2)).toEqual(second.slice(0, 2));
    const parts = [first[0], first[2], second[2]].map((id) => id?.split('.')[0]);
    expect(new Set(parts).size).toBe(3);
    const secrets = [first[1], first[3], second[3]];
    expect(new Set(secrets).size).toBe(3);
  });
});
