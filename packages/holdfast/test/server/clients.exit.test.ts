/** A process that has used an adapter ends by itself: the library keeps no handle open. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Server, spawnWorker, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADAPTERS, type Adapter, type Protocol } from './clients.support.js';

const require = createRequire(import.meta.url);

let folder: string;
let server: Server;

// from the sources, as all tests do: the files in `dist` may be old or missing
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-clients-'));
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  const entry = fileURLToPath(new URL('../../src/store/clients/detect.ts', import.meta.url));
  const types = dirname(dirname(require.resolve('@types/node/package.json')));
  const options = [
    ...['--module', 'nodenext', '--target', 'es2022', '--skipLibCheck'],
    ...['--types', 'node', '--typeRoots', types],
    ...['--rootDir', fileURLToPath(new URL('../../src', import.meta.url))],
  ];
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const args = [tsc, entry, '--ignoreConfig', '--outDir', folder, ...options];
  await promisify(execFile)(process.execPath, args, { cwd: folder });
  server = await startServer({ server: 'redis' });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function exitOf(
  adapter: Adapter,
  protocol: Protocol,
  body: string,
  meanwhile: (say: (type: string) => Promise<unknown>) => Promise<void> = async () => undefined,
): Promise<unknown> {
  const where = { host: server.host, port: server.port, protocol };
  const text = `
    import { createRequire } from 'node:module';
    import { portFor } from './store/clients/detect.js';
    const require = createRequire(${JSON.stringify(import.meta.url)});
    const heard = { message: () => {}, up: () => {}, down: () => process.send({ type: 'down' }) };
    ${adapter.program(where, body)}
    process.send({ type: 'done' });
  `;
  const file = join(folder, `program-${adapter.name.replace(' ', '-')}-${protocol}.js`);
  await writeFile(file, text);
  await using worker = spawnWorker(file);
  await meanwhile((type) => worker.next(type));
  await worker.next('done');
  return { ...(await worker.exited), output: worker.output };
}

for (const adapter of ADAPTERS) {
  describe.each(adapter.protocols.map((one) => [one] as const))(
    `${adapter.name}, RESP%i`,
    (protocol) => {
      it('ends after its subscription was closed', async () => {
        const body = `
          const port = portFor(client);
          const subscription = await port.subscribe('c', heard);
          await port.eval('return 1', [], []);
          await subscription.close();`;
        expect(await exitOf(adapter, protocol, body)).toEqual({
          code: 0,
          signal: null,
          output: '',
        });
      });

      it('ends while its subscription is open', async () => {
        const body = `
          const port = portFor(client);
          await port.subscribe('c', heard);`;
        expect(await exitOf(adapter, protocol, body)).toEqual({
          code: 0,
          signal: null,
          output: '',
        });
      });

      it('ends after its subscription was refused', async () => {
        const body = `
          const port = portFor(client);
          await port.eval("return redis.call('PING')", [], []);
          const elsewhere = Object.create(client, {
            duplicate: { value: (options) => client.duplicate({ ...options, ...closedPort }) },
          });
          const refused = await portFor(elsewhere).subscribe('c', heard).catch((error) => error);
          if (!/ECONNREFUSED/.test(refused.message)) throw refused;`;
        const closed = '{ port: 1, host: "127.0.0.1", socket: { ...closedSocket } }';
        const strategy = 'reconnectStrategy: false';
        const head = `const closedSocket = { port: 1, host: '127.0.0.1', ${strategy} };
          const closedPort = ${closed};`;
        expect(await exitOf(adapter, protocol, head + body)).toEqual({
          code: 0,
          signal: null,
          output: '',
        });
      });

      it('ends after its subscription was closed while the server was down', async () => {
        const body = `
          const port = portFor(client);
          let lost;
          const gone = new Promise((resolve) => { lost = resolve; });
          const subscription = await port.subscribe('c', { ...heard, down: lost });
          process.send({ type: 'subscribed' });
          // the subscription does not keep the process alive
          const alive = setInterval(() => {}, 1000);
          await gone;
          clearInterval(alive);
          await subscription.close();`;
        const exit = await exitOf(adapter, protocol, body, async (say) => {
          await say('subscribed');
          await server.kill();
        });
        await server.restart();
        expect(exit).toEqual({ code: 0, signal: null, output: '' });
      });
    },
  );
}
