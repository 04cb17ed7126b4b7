/**
 * Real collectors of metrics for tests: Prometheus scrapes pages, and VictoriaMetrics receives
 * OTLP. (Debian builds Prometheus without its receiver of OTLP.) Both answer PromQL.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, type ProgramName } from './binaries.js';
import { programFolder, startProgram } from './program.js';

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
  const folder = programFolder(name);
  const { found: url, stop } = await startProgram({
    ...{ name, folder, command: [...command, ...argsOf(folder)] },
    ready: async (log) => {
      const [, port] = listening.exec(log) ?? [];
      if (port === undefined) return undefined;
      await query(`http://127.0.0.1:${port}`, 'vector(1)');
      return `http://127.0.0.1:${port}`;
    },
  });
  return { url, query: (expression) => query(url, expression), [Symbol.asyncDispose]: stop };
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
