import { scanMasters } from './cluster.js';
import { isErrorReply } from './errors.js';
import type { ClientPort, ClusterView } from './port.js';

/** A client of `@valkey/valkey-glide` 2: `GlideClient` or `GlideClusterClient`. */
export interface GlideLike {
  customCommand(args: string[], options?: object): Promise<unknown>;
  invokeScript(...args: never): unknown;
  close(errorMessage?: string): void;
}

export interface GlideAdapter
  extends Pick<ClientPort, 'evalsha' | 'eval' | 'scan' | 'subscribe' | 'state' | 'delay'> {
  readonly view: ClusterView;
}

export function glidePort(client: GlideLike): ClientPort {
  const view: ClusterView = {
    ...{ takesAddress: true, triesAgain: true },
    masters: () => [],
    masterOf: () => undefined,
    refresh: async (silent) => (await loading).view.refresh(silent),
    subscribe: async (...args) => (await loading).view.subscribe(...args),
  };
  const port: ClientPort = {
    name: 'valkey-glide',
    client,
    keyPrefix: '',
    writesLater: true,
    hasNoLine: true,
    evalsha: (calls) => {
      const sent = loading.then((loaded) => loaded.evalsha(calls));
      return calls.map(async (_, at) => (await sent)[at]);
    },
    eval: async (...args) => (await loading).eval(...args),
    scan: async (...args) => (await loading).scan(...args),
    subscribe: async (...args) => (await loading).subscribe(...args),
    // pending commands are rejected at the end of a connection
    connection: () => client,
    isReply: isErrorReply,
    state: () => undefined,
    ...('ssubscribe' in client && { cluster: view }),
  };
  const loading = import('./glide-adapter.js').then(({ glideAdapter }) => {
    const adapter = glideAdapter(client, scanMasters);
    Object.assign(view, adapter.view);
    return Object.assign(port, adapter);
  });
  // the first command reports it
  loading.catch(() => undefined);
  return port;
}
