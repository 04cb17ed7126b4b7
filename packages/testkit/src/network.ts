/**
 * A separate host for a process: a network namespace, with any number of links to this machine. A
 * link can be cut in one direction or both without either end noticing: frames then go to a
 * hardware address that does not exist. Needs root and the `ip` command.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { guardNamespace } from './guardian.js';

const run = promisify(execFile);

/** A hardware address that no interface has. */
const UNKNOWN_MAC = '02:00:00:00:00:01';
/** Attempts to find an unused name and address range. */
const ATTEMPTS = 5;

let made = 0;

/** An interface name has at most 15 characters; the process id needs up to 7 of them. */
function letter(count: number): string {
  return count.toString(36).padStart(2, 'a');
}

/** A link between this machine and a host. */
export interface Wire {
  /** This machine's address on the link. */
  readonly address: string;
  /** Drops frames; `requests` are the frames from the host to this machine. */
  cut(direction: 'both' | 'requests' | 'replies'): Promise<void>;
  heal(): Promise<void>;
}

/** A network namespace. `await using` removes it, and drops all frames in transit from it. */
export interface Host extends AsyncDisposable {
  readonly wires: readonly Wire[];
  /** The words before a command that runs it in the namespace. */
  readonly prefix: readonly string[];
}

/** Undefined if the machine does not allow it. */
export async function makeHost(wires: number): Promise<Host | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    made += 1;
    const name = `hf${process.pid}${letter(made)}`;
    try {
      await run('ip', ['netns', 'add', name]);
    } catch {
      return undefined;
    }
    guardNamespace(name);
    const remove = async (): Promise<void> => {
      await run('ip', ['netns', 'del', name]).catch(() => undefined);
    };
    try {
      await run('ip', ['-n', name, 'link', 'set', 'lo', 'up']);
      const list: Wire[] = [];
      for (let index = 0; index < wires; index++) list.push(await makeWire(name, index));
      const prefix = ['ip', 'netns', 'exec', name];
      return { wires: list, prefix, [Symbol.asyncDispose]: remove };
    } catch {
      await remove();
    }
  }
  return undefined;
}

async function makeWire(name: string, index: number): Promise<Wire> {
  const here = `${name}${index}`;
  const there = `${here}x`;
  // a random /30 of many, so that two runs on one machine rarely choose the same
  const block = Math.floor(Math.random() * 2 ** 14);
  const range = `10.${192 + (block >> 10)}.${(block >> 2) & 255}`;
  const base = (block & 3) * 64;
  const [address, other] = [`${range}.${base + 1}`, `${range}.${base + 2}`];
  await run('ip', ['link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name]);
  await run('ip', ['addr', 'add', `${address}/30`, 'dev', here]);
  await run('ip', ['link', 'set', here, 'up']);
  await run('ip', ['-n', name, 'addr', 'add', `${other}/30`, 'dev', there]);
  await run('ip', ['-n', name, 'link', 'set', there, 'up']);
  const macs = { here: await macOf([], here), there: await macOf(['-n', name], there) };
  const point = (inside: boolean, to: string): Promise<unknown> => {
    const where = inside ? ['-n', name] : [];
    const [neighbour, device] = inside ? [address, there] : [other, here];
    const words = ['neigh', 'replace', neighbour, 'lladdr', to, 'dev', device, 'nud', 'permanent'];
    return run('ip', [...where, ...words]);
  };
  return {
    address,
    cut: async (direction) => {
      if (direction !== 'replies') await point(true, UNKNOWN_MAC);
      if (direction !== 'requests') await point(false, UNKNOWN_MAC);
    },
    heal: async () => {
      await point(true, macs.here);
      await point(false, macs.there);
    },
  };
}

async function macOf(where: readonly string[], device: string): Promise<string> {
  const { stdout } = await run('ip', [...where, '-br', 'link', 'show', 'dev', device]);
  const found = /(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/.exec(stdout);
  if (found === null) throw new Error(`no hardware address in ${stdout}`);
  return found[0];
}
