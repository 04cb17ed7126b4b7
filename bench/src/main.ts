/** `npm run bench`: compares Holdfast with the bare client, on servers that it starts itself. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, release, type, totalmem } from 'node:os';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { startServer } from 'holdfast-testkit';
import { cost } from './cost.js';
import { counts } from './counts.js';
import { crowd } from './crowd.js';
import { handoff } from './handoff.js';
import { readers } from './readers.js';
import { Report } from './report.js';
import { type Bench, type Part, readSettings, type Settings, USAGE } from './settings.js';
import { concurrent, uncontended } from './uncontended.js';

const PARTS: Record<Part, (bench: Bench, report: Report) => Promise<void>> = {
  counts,
  uncontended,
  concurrent,
  handoff,
  crowd,
  cost,
  readers,
};

const PACKAGES = ['ioredis', 'redis', 'ioredis-5', 'redis-5'];

/** The machine, servers and clients of the measurement. */
function environment(servers: Record<string, string>): Record<string, unknown> & { date: string } {
  const require = createRequire(import.meta.url);
  const version = (name: string): string =>
    (require(`${name}/package.json`) as { version: string }).version;
  return {
    date: new Date().toISOString(),
    node: process.version,
    system: `${type()} ${release()}`,
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? '',
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    servers,
    clients: Object.fromEntries(PACKAGES.map((name) => [name, version(name)])),
  };
}

function save(content: object, date: string): void {
  const folder = fileURLToPath(new URL('../results/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = `${folder}${date.slice(0, 19).replaceAll(':', '')}.json`;
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  console.log(`\nwritten: ${file}`);
}

async function run(settings: Settings): Promise<boolean> {
  const report = new Report();
  const servers: Record<string, string> = {};
  for (const name of settings.servers) {
    await using server = await startServer({ server: name });
    servers[name] = server.version;
    console.log(`${name} ${server.version}, Node ${process.version}, ${cpus().length} cores;`);
    console.log(`median (lowest–highest) of ${settings.rounds} rounds of ${settings.seconds} s`);
    for (const part of settings.parts) await PARTS[part]({ ...settings, server }, report);
  }
  const { figures, broken } = report;
  const missed = figures.filter(({ target }) => target?.met === false).length;
  const targets = figures.filter(({ target }) => target !== undefined).length;
  console.log(`\n${targets - missed} of ${targets} targets met`);
  if (broken.length > 0) console.log(`broken:\n  ${broken.join('\n  ')}`);
  if (settings.save) {
    const machine = environment(servers);
    save(
      { ...machine, rounds: settings.rounds, seconds: settings.seconds, figures, broken },
      machine.date,
    );
  }
  return broken.length === 0;
}

try {
  const settings = readSettings(argv.slice(2));
  if (settings === undefined) console.log(USAGE);
  else if (!(await run(settings))) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exitCode = 1;
}
