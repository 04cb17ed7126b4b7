/**
 * Real collectors of metrics for tests: Prometheus scrapes pages, and VictoriaMetrics receives
 * OTLP. (Debian builds Prometheus without its receiver of OTLP.) Both answer PromQL.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, type ProgramName } from './binaries.js';
import { guard, guardFolder, removeFolder } from './guardian.js';
import { until } from './wait.js';

/** One series of the answer to a query. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A running collector. `await using` stops it. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** The values of an expression now. Rejects with the message of the collector if it is wrong. */
  query(expression: string): Promise<Series[]>;
}

const START_MS = 60_000;
const SCRAPE = '500ms';

/**
 * Starts Prometheus, and resolves when it answers.
 * @param targets what it scrapes, as `host:port`
 * @throws if this machine has none, and it cannot be fetched
 */
export function startPrometheus(targets: readonly string[]): Promise<Collector> {
  return start('prometheus', /"Listening on".*address=\S*:(\d+)/u, (folder) => {
    const config = join(folder, 'prometheus.yml');
    // JSON is YAML too
    const settings = {
      global: { scrape_interval: SCRAPE, scrape_timeout: SCRAPE },
      scrape_configs: [{ job_name: 'holdfast', static_configs: [{ targets }] }],
    };
    writeFileSync(config, JSON.stringify(settings));
    const data = join(folder, 'data');
    const listen = '--web.listen-address=127.0.0.1:0';
    return [`--config.file=${config}`, `--storage.tsdb.path=${data}`, listen];
  });
}

/**
 * Starts VictoriaMetrics, and resolves when it answers. It receives OTLP at
 * `/opentelemetry/v1/metrics`.
 * @throws if this machine has none, and it cannot be fetched
 */
export function startVictoriaMetrics(): Promise<Collector> {
  return start('victoria-metrics', /started server at http:\/\/\S*:(\d+)/u, (folder) => [
    '-httpListenAddr=127.0.0.1:0',
    `-storageDataPath=${join(folder, 'data')}`,
    '-opentelemetry.usePrometheusNaming',
    '-search.latencyOffset=0s',
    '-search.disableCache',
  ]);
}

/**
 * @param listening finds the port in the log
 * @param argsOf makes the arguments; it may write files to the folder
 */
async function start(
  name: ProgramName,
  listening: RegExp,
  argsOf: (folder: string) => readonly string[],
): Promise<Collector> {
  const { command } = await prepare(name);
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`));
  guardFolder(folder);
  const path = join(folder, 'log');
  const log = openSync(path, 'w');
  const [file = '', ...words] = command;
  const args = [...words, ...argsOf(folder)];
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', log, log] });
  closeSync(log);
  guard(child);
  let gone = false;
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).then(() => {
    gone = true;
  });
  const stop = async (): Promise<void> => {
    // its data is not needed again
    child.kill('SIGKILL');
    await exited;
    removeFolder(folder);
  };
  const ready = async (): Promise<string | undefined> => {
    if (gone) return 'gone';
    const [, port] = listening.exec(readFileSync(path, 'utf8')) ?? [];
    if (port === undefined) return undefined;
    const url = `http://127.0.0.1:${port}`;
    await query(url, 'vector(1)');
    return url;
  };
  try {
    const url = await until(ready, { within: START_MS, every: 50, what: `${name} answers` });
    if (gone) throw new Error(`${name} has ended:\n${readFileSync(path, 'utf8')}`);
    return { url, query: (expression) => query(url, expression), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Answer {
  readonly error?: string;
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [number, string];
    }[];
  };
}

async function query(url: string, expression: string): Promise<Series[]> {
  const body = new URLSearchParams({ query: expression });
  const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body });
  const { data, error } = (await response.json()) as Answer;
  if (data === undefined) throw new Error(`${expression}: ${error}`);
  return data.result.map(({ metric, value: [, value] }) => ({
    labels: metric,
    value: Number(value),
  }));
}
