/** A server of its own for the view. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLocalName } from './access.js';
import type { Dashboard } from './dashboard.js';
import { nodeHandler } from './mounts.js';

/** Where the server listens. */
export interface ServeOptions {
  /** Default: any free port. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined;
}

/** A server that listens. */
export interface Served {
  /** The URL of the page, without the token of local access. */
  readonly url: string;
  /** The URL to open: without `authorize` it has the token of local access. */
  readonly openUrl: string;
  close(): Promise<void>;
}

/** Listens. Refuses any address but loopback for a view without `authorize`. */
export async function serve(
  view: Dashboard,
  { port = 0, host = '127.0.0.1' }: ServeOptions = {},
): Promise<Served> {
  if (!view.guarded && !isLocalName(host)) {
    throw new Error(
      `holdfast-dashboard: a view without the option "authorize" listens on 127.0.0.1, ::1 or ` +
        `localhost only, not on ${host}`,
    );
  }
  const server = createServer(nodeHandler(view));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: found } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  const url = `http://${name}:${found}/`;
  return {
    url,
    openUrl: view.localToken === undefined ? url : `${url}?token=${view.localToken}`,
    close: async () => {
      view.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
