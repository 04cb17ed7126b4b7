/** The cluster of a test file, and instances on it as in separate processes. */
import { Holdfast, type HoldfastOptions } from 'holdfast';
import { type Etcd, type EtcdOptions as ClusterOptions, startEtcd } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { EtcdRegister } from '../src/etcd-register.js';
import { etcd, type EtcdOptions } from '../src/index.js';
import { settingsOf } from '../src/options.js';

/** What a test file uses. */
export interface TestCluster {
  readonly cluster: Etcd;
  /** An instance, which is closed after the test. */
  instance(options?: HoldfastOptions, store?: EtcdOptions): Holdfast;
  register(store?: EtcdOptions): EtcdRegister;
  /** A request to the first member, as any client sends it. */
  request<T = unknown>(path: string, body: object): Promise<T>;
}

/** Starts a cluster before the tests of the file. */
export function onCluster(options: ClusterOptions = {}): TestCluster {
  let cluster: Etcd;
  const instances: Holdfast[] = [];
  const registers: EtcdRegister[] = [];
  beforeAll(async () => {
    cluster = await startEtcd(options);
  }, 120_000);
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((one) => one.close({ grace: 0 })));
    await Promise.all(registers.splice(0).map((one) => one.close()));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  return {
    get cluster() {
      return cluster;
    },
    instance(settings, store) {
      const holdfast = new Holdfast(etcd(cluster.endpoints, store), settings);
      instances.push(holdfast);
      return holdfast;
    },
    register(store = {}) {
      const register = new EtcdRegister(cluster.endpoints, settingsOf(store));
      registers.push(register);
      return register;
    },
    async request<T>(path: string, body: object) {
      const response = await fetch(`${cluster.endpoints[0]}/v3/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      return (await response.json()) as T;
    },
  };
}
