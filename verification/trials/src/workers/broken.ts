/**
 * Holdfast instances with a planted fault. Each fault removes one part of the library's safety, and
 * the trials must find it. Some change a module, so the library is loaded as modules, not as the
 * package is published.
 */
import type { Clock, Holdfast, HoldfastOptions, RedisClient } from 'holdfast';
import { Holdfast as FromModules } from '../../../../packages/holdfast/dist/index.js';
import { portFor } from '../../../../packages/holdfast/dist/store/clients/detect.js';
import type { Command, Reply } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Store } from '../../../../packages/holdfast/dist/store/port.js';
import { RedisStore } from '../../../../packages/holdfast/dist/store/redis/redis-store.js';
import { Acquisition } from '../../../../packages/holdfast/dist/acquire/acquisition.js';

const PREFIX = 'holdfast:';

/** Creates a Holdfast instance, with the given fault if any. */
export function broken(client: RedisClient, options: HoldfastOptions, fault?: string): Holdfast {
  switch (fault) {
    case undefined:
      return made(client, options);
    case 'counts-from-reply':
      return made(change(client, { reply: countedFromReply }), options);
    case 'cached-clock':
      return made(client, { ...options, clock: cachedClock() });
    case 'push-only':
      return made(change(client, { command: neverPolled }), options);
    case 'no-claim-window':
      return made(client, { ...options, claimWindow: 30_000, retention: 90_000 });
    case 'trusts-stale-push':
      Acquisition.prototype.localTime = () => performance.now();
      return made(client, options);
    default:
      throw new Error(`unknown fault ${fault}`);
  }
}

function made(where: RedisClient | Store, options: HoldfastOptions): Holdfast {
  const holdfast: unknown = new FromModules(where, options);
  return holdfast as Holdfast;
}

interface Change {
  /** Answers a command without sending it. */
  readonly command?: (command: Command) => Promise<Reply> | undefined;
  /** Changes a reply that took `elapsed` ms. */
  readonly reply?: (reply: Reply, elapsed: number) => Reply;
}

/** The store of a client, with a change. */
function change(client: RedisClient, { command, reply }: Change): Store {
  const store = new RedisStore(portFor(client), PREFIX);
  return {
    label: store.label,
    keys: (pattern, within) => store.keys(pattern, within),
    execute: (batch) => {
      const sentAt = performance.now();
      return batch.map(async (each) => {
        const answered = command?.(each);
        if (answered !== undefined) return answered;
        const answer = await (store.execute([each])[0] as Promise<Reply>);
        return reply?.(answer, performance.now() - sentAt) ?? answer;
      });
    },
    listen: (name, listener) => store.listen(name, listener),
  };
}

/**
 * Counts the lease from the reply instead of the request, and without the margin for clock drift:
 * the remaining time is increased by both amounts.
 */
function countedFromReply(reply: Reply, elapsed: number): Reply {
  if (reply.status !== 'granted' && reply.status !== 'renewed') return reply;
  return { ...reply, left: ((reply.left / 1000 + elapsed + 2) / 0.99) * 1000 };
}

/** Answers polls with "no change, no hurry", so that only pushes report grants. */
function neverPolled(command: Command): Promise<Reply> | undefined {
  if (command.op !== 'poll') return undefined;
  const standings = command.ids.map(() => ({ status: 'queued' as const }));
  return Promise.resolve({ status: 'polled', now: 0, next: 1e9, standings, pause: 0 });
}

/** A clock that is updated once per turn of the event loop, like libuv's clock for timers. */
function cachedClock(): Clock {
  let cached = performance.now();
  setInterval(() => {
    cached = performance.now();
  }, 1);
  return {
    now: () => cached,
    wall: () => Date.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, Math.max(0, Math.ceil(ms)));
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
