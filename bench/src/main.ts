/**
 * `npm run bench`: measures Holdfast beside the bare clients and other libraries, on a server that
 * it starts itself; `--draw` draws the pictures of a result.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { startServer } from 'holdfast-testkit';
import { drawPictures } from './draw/pictures.js';
import { drawScale } from './draw/scale-pictures.js';
import { printEtcd } from './consensus.js';
import { printFiles } from './files.js';
import { printPostgres } from './postgres.js';
import { printIdle } from './idle.js';
import { installPeers } from './install.js';
import { describeMachine, load } from './machine.js';
import { printTable } from './print.js';
import type { Result, Table } from './results.js';
import { c, d, e, h, processes } from './scenarios/contended.js';
import { g } from './scenarios/held.js';
import { i } from './scenarios/memory.js';
import { a, b, keys } from './scenarios/pairs.js';
import { holders, j } from './scenarios/readers.js';
import type { Scenario } from './scenarios/scenario.js';
import { k } from './scenarios/takeover.js';
import { f, waiters } from './scenarios/waiters.js';
import { printBursts } from './burst.js';
import { printContenders } from './contend.js';
import { printLists } from './list.js';
import { printOverload } from './overload.js';
import { printSizes } from './bundles.js';
import { printShortPaths } from './short.js';
import { printStarts } from './start.js';
import { printScale, type ScaleResult } from './scale/scale.js';
import { printTracing } from './tracing.js';
import { printWays } from './ways/ways.js';
import { readSettings, type ScenarioId, type Settings, USAGE } from './settings.js';

const PICTURES = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));

const RUN: Record<ScenarioId, Scenario> = {
  ...{ a, b, c, d, e, f, g, h, i, j, k },
  ...{ keys, holders, waiters, processes },
};

async function measure(settings: Settings): Promise<Result> {
  const machine = describeMachine();
  const peers = settings.peers ? installPeers() : undefined;
  await using target = await startServer({ server: settings.server });
  const { scenarios, rounds, sizes, command } = settings;
  const before = load();
  console.log(`${command}\n${target.name} ${target.version}, Node ${machine.node}`);
  console.log(`${machine.cores} cores, load average ${before.toFixed(1)}`);
  console.log(`median, lowest–highest of ${rounds} rounds of ${sizes.seconds} s`);
  if (!machine.pinning) console.log('taskset is missing: processes are not bound to cores');
  const tables: Table[] = [];
  const result = (): Result => ({
    format: 2,
    date: new Date().toISOString(),
    command,
    machine,
    server: { name: target.name, version: target.version },
    peers: peers?.versions ?? {},
    load: { before, after: load() },
    settings: { rounds, sizes },
    tables,
  });
  const bench = { ...settings, target, peersFolder: peers?.folder };
  for (const id of scenarios) {
    await RUN[id](bench, (table) => {
      tables.push(table);
      printTable(table);
      // after each table, because a run is long
      if (settings.json !== undefined) write(settings.json, toJson(result()));
    });
  }
  return result();
}

const toJson = (result: Result): string => `${JSON.stringify(result, null, 1)}\n`;

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function draw(file: string, folder: string): void {
  const result = JSON.parse(readFileSync(file, 'utf8')) as Result | ScaleResult;
  if (result.format !== 2 && result.format !== 'scale-1') {
    throw new Error(`${file}: expected format 2 or scale-1`);
  }
  const pictures = result.format === 2 ? drawPictures(result) : drawScale(result);
  if (pictures.size === 0) throw new Error(`${file}: no scenario of a picture was measured`);
  for (const [name, picture] of pictures) {
    write(join(folder, name), picture);
    console.log(`drawn: ${join(folder, name)}`);
  }
}

/** False if Holdfast failed or violated exclusion. */
function sound({ tables }: Result): boolean {
  const targets = tables.flatMap((table) => table.targets);
  const met = targets.filter((target) => target.met).length;
  console.log(`\n${met} of ${targets.length} targets met`);
  const broken = tables.flatMap(({ scenario, rows }) =>
    rows
      .filter(({ variant, state }) => variant.kind === 'ours' && state !== 'ok')
      .map(({ variant, state, note }) => `${scenario}: ${variant.name}: ${state}: ${note ?? ''}`),
  );
  for (const line of broken) console.log(`broken: ${line}`);
  return broken.length === 0;
}

async function run(settings: Settings): Promise<void> {
  if (settings.tracing) return printTracing(settings);
  if (settings.start) return printStarts(settings);
  if (settings.ways) return printWays(settings);
  if (settings.burst) return printBursts(settings);
  if (settings.contend) return printContenders(settings);
  if (settings.idle) return printIdle(settings);
  if (settings.scale) return printScale(settings);
  if (settings.list) return printLists(settings);
  if (settings.overload) return printOverload(settings);
  if (settings.files) return printFiles(settings);
  if (settings.etcd) return printEtcd(settings);
  if (settings.postgres) return printPostgres(settings);
  if (settings.short) return printShortPaths(settings);
  await printSizes();
  if (settings.size) return;
  const result = await measure(settings);
  if (settings.json !== undefined) console.log(`\nwritten: ${settings.json}`);
  if (!sound(result)) process.exitCode = 1;
}

try {
  const settings = readSettings(argv.slice(2));
  if (settings === undefined) console.log(USAGE);
  else if (settings.draw !== undefined) draw(settings.draw, settings.into ?? PICTURES);
  else await run(settings);
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exitCode = 1;
}
