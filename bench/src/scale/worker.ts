/** A process of a load: instances of Holdfast that do what they are told. */
import { argv } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Holdfast, HoldfastError, type Lease, memory, quorum, type RedisClient } from 'holdfast';
import { etcd } from 'holdfast-etcd';
import { postgres } from 'holdfast-postgres';
import { sqlite } from 'holdfast-sqlite';
import { sleep } from 'holdfast-testkit';
import { Cluster, Redis } from 'ioredis';
import type { Answer, Given, Order } from './orders.js';
import { REPLICAS } from './sites.js';

const given = JSON.parse(argv[2] ?? '') as Given;
const { address, counted, instances: count, requestTimeout, shared, ttl } = given;
/** A store that is not emptied for each load gets keys of each process. */
const place = address.ports.length > 0 ? given.place : process.pid;
/** The acquisitions of a process that are made in one turn. */
const AT_ONCE = 500;
/** Long enough for any wait of a load, and refused by no option. */
const FOREVER = Number.POSITIVE_INFINITY;

/** Calls of an instance, one after the other, that may fail. */
const FAILURES_MAX = 10;

/** Instances that start at the same time. */
const TOGETHER = 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function open(client: RedisClient | undefined): Holdfast {
  const options = { ttl, requestTimeout };
  switch (address.kind) {
    case 'one':
    case 'cluster':
      return new Holdfast(client as RedisClient, options);
    case 'replicas':
      return new Holdfast(client as RedisClient, {
        ...options,
        replicas: REPLICAS,
        restartGuard: 0,
      });
    case 'quorum':
      return new Holdfast(quorum(address.ports.map(connect), { durable: true }), options);
    case 'memory':
      return new Holdfast(memory(), options);
    case 'postgres':
      return new Holdfast(postgres({ ...address.connection }), options);
    case 'sqlite':
      return new Holdfast(sqlite(address.file as string), options);
    case 'etcd':
      return new Holdfast(etcd(address.endpoints as string[]), options);
  }
}

const calls = new Map<string, number>();
/** The boot of the server follows. */
const OPERATION = /^(prepare|accept|look|collect|check)(?= |$)/;

/** Counts the calls of each script; of a quorum, of each operation of its script. */
class CountingRedis extends Redis {
  override sendCommand(...words: Parameters<Redis['sendCommand']>): unknown {
    const [{ args, name }] = words;
    const texts = args.map(String);
    const isQuorum = address.kind === 'quorum';
    const word = isQuorum ? texts.slice(2).find((text) => OPERATION.test(text)) : undefined;
    const [of = ''] = (word ?? texts[0])?.split(' ', 1) ?? [];
    if (name === 'evalsha') calls.set(of, (calls.get(of) ?? 0) + 1);
    return super.sendCommand(...words);
  }
}

function connect(port: number): Redis {
  const Client = counted ? CountingRedis : Redis;
  return new Client({ host: '127.0.0.1', port }).on('error', () => undefined);
}

function client(): RedisClient | undefined {
  const { kind, ports } = address;
  if (kind === 'cluster') return new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })));
  return kind === 'one' || kind === 'replicas' ? connect(ports[0] as number) : undefined;
}

const one = shared ? client() : undefined;
const instances = Array.from({ length: count }, () => open(one ?? client()));
const held: Lease[] = [];
let end = new AbortController();

const each = (total: number, at: number): number =>
  Math.floor(total / count) + (at < total % count ? 1 : 0);

/** Does it, and returns the number of pairs or grants. */
async function obey(order: Order): Promise<number> {
  switch (order.do) {
    case 'pairs':
      await all((instance, at) => pairs(instance, at, each(order.pairs, at)));
      return order.pairs;
    case 'contend': {
      let kept = 0;
      await all(async (instance) => {
        for (let done = 0; done < order.grants; done++) {
          const lease = await acquired(instance, order.key);
          if (order.work > 0) await sleep(order.work);
          if (lease.held) kept += 1;
          await lease.release();
        }
      });
      return kept;
    }
    case 'loop': {
      let done = 0;
      const end = performance.now() + order.ms;
      await all(async (instance, at) => {
        const mutex = instance.mutex(order.key ?? `pair:${place}:${at}`);
        for (; performance.now() < end; done++) {
          const lease = await mutex.acquire({ wait: FOREVER });
          if (order.work > 0) await sleep(order.work);
          await lease.release();
          if (order.pause > 0) await sleep(order.pause);
        }
      });
      return done;
    }
    case 'hold':
      await all(async (instance, at) => {
        for (const lease of await take(instance, each(order.locks, at))) held.push(lease);
      });
      return order.locks;
    case 'use':
      await all(async (instance, at) => {
        for (let left = each(order.keys, at); left > 0; left -= AT_ONCE) {
          const leases = await take(instance, Math.min(AT_ONCE, left));
          await Promise.all(leases.map((lease) => lease.release()));
        }
      });
      return order.keys;
    case 'wait':
      for (const instance of instances) waitFor(instance, order.key);
      return count;
    case 'queue':
      for (let at = 0; at < order.calls; at++) waitFor(instances[0] as Holdfast, order.key);
      return order.calls;
    case 'pass':
      return pass(order.calls);
    case 'weigh':
      return 0;
    case 'rest':
      await sleep(order.ms);
      return 0;
    case 'drop': {
      end.abort();
      end = new AbortController();
      while (held.length > 0) {
        await Promise.all(held.splice(-AT_ONCE).map((lease) => lease.release()));
      }
      return 0;
    }
  }
}

/** On a busy machine, requests may outlast their limit: then it asks again, as a program does. */
async function acquired(instance: Holdfast, key: string): Promise<Lease> {
  for (let failed = 0; ; failed++) {
    try {
      return await instance.mutex(key).acquire({ wait: FOREVER });
    } catch (error) {
      const isOutage = error instanceof HoldfastError && error.code === 'HOLDFAST_UNREACHABLE';
      if (!isOutage || failed === FAILURES_MAX) throw error;
    }
  }
}

async function all(work: (instance: Holdfast, at: number) => Promise<void>): Promise<void> {
  await Promise.all(instances.map(work));
}

async function pairs(instance: Holdfast, at: number, times: number): Promise<void> {
  const mutex = instance.mutex(`pair:${place}:${at}`);
  for (let done = 0; done < times; done++) await (await mutex.acquire()).release();
}

/** The number of the next key. */
let next = 0;

async function take(instance: Holdfast, locks: number): Promise<Lease[]> {
  const leases: Lease[] = [];
  for (let left = locks; left > 0; left -= AT_ONCE) {
    const names = Array.from({ length: Math.min(AT_ONCE, left) }, () => `order:${place}:${next++}`);
    leases.push(...(await Promise.all(names.map((name) => instance.mutex(name).acquire()))));
  }
  return leases;
}

/** Releases what is held; each release gives the lease to the next call, which is then held. */
async function pass(calls: number): Promise<number> {
  let passed = 0;
  while (passed < calls) {
    const leases = held.splice(0);
    passed += leases.length;
    await Promise.all(leases.map((lease) => lease.release()));
    if (held.length === 0) await sleep(1);
  }
  return passed;
}

function waitFor(instance: Holdfast, key: string): void {
  const call = instance.mutex(key).acquire({ wait: FOREVER, signal: end.signal });
  call.then(
    (lease) => void held.push(lease),
    () => undefined,
  );
}

function bytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function sum(name: 'renewals' | 'pollings' | 'held' | 'commands'): number {
  return instances.reduce((total, instance) => total + instance.stats()[name], 0);
}

async function answer(order: Order): Promise<Answer> {
  const [start, from, sent] = [process.cpuUsage(), performance.now(), sum('commands')];
  const done = await obey(order);
  const { user, system } = process.cpuUsage(start);
  const ms = performance.now() - from;
  const heap = order.do === 'weigh' ? bytes() : 0;
  const [renewals, polls] = [sum('renewals'), sum('pollings')];
  const commands = sum('commands') - sent;
  const scripts = Object.fromEntries(calls);
  return {
    ...{ ms, cpu: user + system, heap, done, renewals, polls, held: sum('held') },
    ...{ commands, scripts },
  };
}

const send = (message: object): void => void process.send?.(message);
process.on('message', ({ order, id }: { readonly order: Order; readonly id: string }) => {
  answer(order).then(
    (found) => send({ type: id, result: found }),
    (error: unknown) => send({ type: id, reason: String(error) }),
  );
});
// the first command of each instance loads its store and the scripts
for (let from = 0; from < count; from += TOGETHER) {
  const some = instances.slice(from, from + TOGETHER);
  await Promise.all(some.map((instance, at) => pairs(instance, from + at, 1)));
}
send({ type: 'ready' });
