/** What a server says of itself, in the forms of all clients and protocols. */
import type { Probe } from './probe.js';

export type Info = ReadonlyMap<string, string>;

export function parseInfo(text: string): Info {
  const lines = text.split(/\r?\n/).map((line) => /^([^#:]+):(.*)$/.exec(line));
  return new Map(lines.flatMap((line) => (line === null ? [] : [[line[1] ?? '', line[2] ?? '']])));
}

/** `undefined` without the right. */
export async function infoOf(probe: Probe): Promise<Info | undefined> {
  const text = await probe.look(['INFO'], '+info', 'version, role, memory and persistence');
  return text === undefined ? undefined : parseInfo(text as string);
}

/** Settings by name; `undefined` without the right. */
export async function configOf(probe: Probe): Promise<ReadonlyMap<string, string> | undefined> {
  const words = ['CONFIG', 'GET', 'appendfsync'];
  const what = 'how often data is written to the disk';
  const first = await probe.look(words, '+config|get', what);
  if (first === undefined) return undefined;
  const all = new Map(pairsOf(first));
  for (const name of ['save', 'min-replicas-to-write']) {
    const more = await probe.look(['CONFIG', 'GET', name], '+config|get', what);
    for (const [key, value] of pairsOf(more)) all.set(key, value);
  }
  return all;
}

/** A flat list in RESP2; a map in RESP3, which each client shows in its own form. */
export function pairsOf(raw: unknown): [string, string][] {
  if (raw === undefined || raw === null) return [];
  if (raw instanceof Map) return [...raw].map(([key, value]) => [String(key), String(value)]);
  if (!Array.isArray(raw)) {
    return Object.entries(raw).map(([key, value]) => [key, String(value)]);
  }
  const list = raw as unknown[];
  if (isEntry(list[0])) {
    return list.filter(isEntry).map(({ key, value }) => [String(key), String(value)]);
  }
  const flat = list.flat();
  return flat.flatMap((key, at) => (at % 2 === 0 ? [[String(key), String(flat[at + 1])]] : []));
}

function isEntry(value: unknown): value is { readonly key: unknown; readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value;
}

export function versionOf(info: Info | undefined): string {
  const valkey = info?.get('valkey_version');
  if (valkey !== undefined) return `valkey ${valkey}`;
  const redis = info?.get('redis_version');
  return redis === undefined ? '' : `redis ${redis}`;
}
