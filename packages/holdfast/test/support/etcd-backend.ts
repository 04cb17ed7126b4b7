/** The store on etcd, as a backend of the suites: all instances of a file share one member. */
import { etcd } from 'holdfast-etcd';
import { type Etcd, type Server, startEtcd } from 'holdfast-testkit';
import { Holdfast } from '../../src/index.js';
import { type Backend, Made } from './backends.js';
import { patient, patientStore } from './patient.js';

let cluster: Promise<Etcd> | undefined;

function etcdBackend(): Backend {
  const made = new Made();
  let endpoints: readonly string[] = [];
  return {
    name: 'etcd',
    store: 'etcd',
    make: async (options = {}) =>
      made.add(new Holdfast(etcd(endpoints, patientStore()), patient(options))),
    program: () => ['holdfast-etcd', 'etcd', endpoints],
    get admin(): Server {
      throw new Error('the suites do not make etcd fail');
    },
    start: async () => {
      cluster ??= startEtcd();
      ({ endpoints } = await cluster);
    },
    close: () => made.close(),
  };
}

export const ETCD: Backend = etcdBackend();

/** Ends etcd after the last test of a file. */
export async function stopEtcd(): Promise<void> {
  await (await cluster)?.[Symbol.asyncDispose]();
  cluster = undefined;
}
