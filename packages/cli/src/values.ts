/** Parses the values of options. */
import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses `500ms`, `30s`, `5m`, `1h30m`, `2d` or `0` to milliseconds. */
export function duration(text: string): number {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) {
    throw new InvalidArgumentError('Write a time with its unit: 500ms, 30s, 5m, 1h30m or 2d.');
  }
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) {
    total += Number(number) * (UNITS[unit as string] as number);
  }
  if (total > Number.MAX_SAFE_INTEGER) throw new InvalidArgumentError('Write a shorter time.');
  return total;
}

/** The longest time of a timer; a longer one would end at once. */
export const TIMER_MAX: number = 2 ** 31 - 1;

/** Permits of a semaphore: how many of how many. */
export interface Permits {
  readonly wanted: number;
  readonly total: number;
}

/** Parses `2/8`: two of eight permits. `8` alone means one of eight. */
export function permits(text: string): Permits {
  const [, wanted = '1', total] = /^(?:(\d+)\/)?(\d+)$/.exec(text) ?? [];
  const parsed = { wanted: Number(wanted), total: Number(total) };
  if (total === undefined || parsed.wanted < 1 || parsed.wanted > parsed.total) {
    throw new InvalidArgumentError('Write 2/8 for two of eight permits.');
  }
  return parsed;
}

/** Parses an exit code. */
export function exitCode(text: string): number {
  const code = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(code <= 255)) throw new InvalidArgumentError('Write a number from 0 to 255.');
  return code;
}

/** Parses a whole number from 1. */
export function count(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number < 1) throw new InvalidArgumentError('Write a whole number from 1.');
  return number;
}

/** Parses a number from 0: `250`, `0.5`, `10k` or `2M`. */
export function amount(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? [];
  if (number === '') throw new InvalidArgumentError('Write a number: 250, 10k or 2M.');
  return Number(number) * ({ k: 1000, M: 1_000_000 }[unit] ?? 1);
}

/** Parses a share: `0.3` or `30%`. */
export function share(text: string): number {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const parsed = Number(number) / (percent === '%' ? 100 : 1);
  if (!(parsed <= 1)) throw new InvalidArgumentError('Write a share: 0.3 or 30%, at most 1.');
  return parsed;
}

const SIZES: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12 };

/** Parses `500MB`, `4GB` or `1TB` to bytes. */
export function bytes(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(MB|GB|TB)$/.exec(text) ?? [];
  const parsed = Number(number) * (SIZES[unit] ?? 0);
  if (!(parsed > 0)) throw new InvalidArgumentError('Write a size with its unit: 500MB or 4GB.');
  return parsed;
}

/** Collects the values of an option that may be repeated. */
export function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

/** Parses a port. */
export function port(text: string): number {
  const parsed = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(parsed <= 65_535)) throw new InvalidArgumentError('Write a port, for example 4650.');
  return parsed;
}

/** Parses `[host:]port`. The default host is this machine only. */
export function address(text: string): { readonly host: string; readonly port: number } {
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new InvalidArgumentError('Write a port or host:port, for example 127.0.0.1:4040.');
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}
