/** The dashboard of Grafana, as it is published. */
import { readFileSync } from 'node:fs';

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: {
    readonly list: { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
  readonly panels: {
    readonly title: string;
    readonly datasource: { readonly uid: string };
    readonly targets: { readonly expr: string }[];
  }[];
}

const path = new URL('../grafana/holdfast.json', import.meta.url);

export const dashboard = JSON.parse(readFileSync(path, 'utf8')) as Dashboard;

/** All queries, those of the variables too. */
export const queries: readonly string[] = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
];

/** A query as Grafana sends it, for all locks. */
export function asSent(query: string): string {
  const values = { $__rate_interval: '1m', $__range: '5m', $lock: '.*' };
  const plain = Object.entries(values).reduce(
    (text, [name, one]) => text.replaceAll(name, one),
    query,
  );
  return plain.replace(/^label_values\((.*), (\w+)\)$/u, 'count by ($2) ($1)');
}
