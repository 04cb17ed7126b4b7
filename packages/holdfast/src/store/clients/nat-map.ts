/** How ioredis reaches a server. */

export interface NatAddress {
  readonly host?: string | undefined;
  readonly port?: number | string | undefined;
}

export type NatMap =
  | ((address: string) => NatAddress | null)
  | Readonly<Record<string, NatAddress>>;

export function mapped(
  map: NatMap | undefined,
  host: string,
  port: number,
): { readonly host: string; readonly port: number } {
  const address = `${host}:${port}`;
  const found = typeof map === 'function' ? map(address) : map?.[address];
  return { host: found?.host ?? host, port: Number(found?.port ?? port) };
}
