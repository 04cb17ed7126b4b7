/** What is played: the reply to an acquire, a renewal, a release is lost. */
import type { Lease } from 'holdfast';
import { type AfterDrop, type Rule, until } from 'holdfast-testkit';
import { isCall, type Spoken } from '../support/commands.js';
import { monotonic } from '../support/overlaps.js';
import { expected, notSetUp, type Scene, setUp } from './scene.js';

/** Commands whose replies are lost; `pass` is a release that passes the lease on. */
export const OPS = ['acquire', 'renew', 'release', 'pass'] as const;
export type Lost = (typeof OPS)[number];

/** One trial; `index` says which of the ways that there are. */
export type Play = (scene: Scene, after: AfterDrop, index: number) => Promise<void>;

export const PLAYS: Readonly<Record<Lost, Play>> = { acquire, renew, release, pass };

const SHORT_TTL = 450;
const HOLD_MS = 5;
const FAIR = { fair: true } as const;

function lose(scene: Scene, op: Spoken, after: AfterDrop): Rule {
  return scene.stage.proxy.dropReply((words) => isCall(words, op, scene.key), { after });
}

/** Everything else is checked whether or not the fault came about. */
function hit(rule: Rule): void {
  if (rule.hits === 0) notSetUp('no reply was lost');
}

function forMs(ms: number): () => boolean {
  const end = monotonic() + ms;
  return () => monotonic() >= end;
}

/** The subject may get the lock or not; if not, nothing of it is left for the rival to wait for. */
async function acquire(scene: Scene, after: AfterDrop, index: number): Promise<void> {
  const { figures } = scene.stage;
  const mutex = scene.lock(FAIR);
  // the lost reply may have granted, or have said what place in the queue there is
  const contended = index % 3 === 2;
  const first = contended ? await scene.rivals(FAIR).acquire() : undefined;
  const rule = lose(scene, 'acquire', after);
  const asked = index % 3 === 0 ? mutex.tryAcquire() : mutex.acquire({ wait: 600 });
  const answer = asked.catch(expected);
  await rule.applied();
  const wanted = wants(scene);
  if (first !== undefined) {
    await scene.hold('first', first, forMs(HOLD_MS));
    await first.release();
  }
  const lease = (await answer) ?? undefined;
  let since = monotonic();
  if (lease !== undefined) {
    figures.count(`${scene.name}: granted all the same`);
    await scene.hold('subject', lease, forMs(HOLD_MS));
    since = monotonic();
    await lease.release().catch(expected);
  }
  await rivalTakes(scene, wanted, since);
}

/** The subject keeps the lease by another renewal, or believes in it no longer than the server. */
async function renew(scene: Scene, after: AfterDrop, index: number): Promise<void> {
  const { figures } = scene.stage;
  const lease = await scene.lock(FAIR).acquire({ ttl: SHORT_TTL }).catch(setUp);
  const wanted = wants(scene);
  const rule = lose(scene, 'renew', after);
  await scene.hold('subject', lease, forMs(1.5 * SHORT_TTL));
  const since = monotonic();
  figures.count(`${scene.name}: ${lease.held ? 'kept' : 'lost in time'}`);
  // whoever has lost a lease may well forget about it
  if (lease.held || index % 2 === 0) await lease.release().catch(expected);
  await rivalTakes(scene, wanted, since);
  hit(rule);
}

/** Who wants the lock from now on; that it may fail is seen when it is awaited. */
function wants(scene: Scene): Promise<Lease> {
  const wanted = scene.rivals(FAIR).acquire();
  wanted.catch(() => undefined);
  return wanted;
}

/** The rival gets the lock at once, and keeps it while the subject tries to release again. */
async function release(scene: Scene, after: AfterDrop): Promise<void> {
  const { figures } = scene.stage;
  const lease = await scene.lock(FAIR).acquire().catch(setUp);
  const wanted = wants(scene);
  const rule = lose(scene, 'release', after);
  await scene.hold('subject', lease, forMs(HOLD_MS));
  const since = monotonic();
  let settled = false;
  const told = releaseHeld(scene, lease, after).then((said) => {
    settled = true;
    figures.count(`${scene.name}: said ${said ?? 'uncertain'}`);
  });
  const taken = await scene.rivalGets(wanted, since);
  if (taken === undefined) return;
  await scene.hold('rival', taken, () => settled);
  await told;
  await scene.rivalReleases(taken);
  hit(rule);
}

/** The subject's own waiter holds before the store was asked, and the rival comes after it. */
async function pass(scene: Scene, after: AfterDrop): Promise<void> {
  const mutex = scene.lock();
  const lease = await mutex.acquire().catch(setUp);
  const inherits = mutex.acquire();
  inherits.catch(() => undefined);
  const waits = async (): Promise<boolean> =>
    (await scene.stage.rival.inspect(scene.key))?.waiterCount === 1;
  await until(waits).catch((error: unknown) => notSetUp(error));
  const wanted = wants(scene);
  const rule = lose(scene, 'release', after);
  await scene.hold('subject', lease, forMs(HOLD_MS));
  const released = releaseHeld(scene, lease, after);
  // a heir that is too slow for its claim window loses its turn, and would wait for the rival here
  const heir = await Promise.race([inherits.catch(setUp), wanted.then(() => undefined)]);
  if (heir === undefined) {
    await (await wanted).release();
    return notSetUp('the rival came first');
  }
  await scene.hold('heir', heir, forMs(HOLD_MS));
  const since = monotonic();
  const given = releaseHeld(scene, heir, after);
  const taken = await scene.rivalGets(wanted, since);
  if (taken === undefined) return;
  await scene.hold('rival', taken, forMs(HOLD_MS));
  const said = await Promise.all([released, given]);
  scene.stage.figures.count(`${scene.name}: said ${said[0] ?? 'uncertain'}`);
  await scene.rivalReleases(taken);
  hit(rule);
}

/**
 * What is held when it is released is not lost. Where a connection goes on after it has lost a
 * reply, each answer is that to another command: then only what was done counts.
 */
async function releaseHeld(
  scene: Scene,
  lease: Lease,
  after: AfterDrop,
): Promise<string | undefined> {
  const { held } = lease;
  const said = await lease.release().catch(expected);
  const own = after !== 'continue';
  if (held && own && said === 'lost') scene.problem('outcome', 'the release said lost');
  return said;
}

async function rivalTakes(scene: Scene, wanted: Promise<Lease>, since: number): Promise<void> {
  const taken = await scene.rivalGets(wanted, since);
  if (taken === undefined) return;
  await scene.hold('rival', taken, forMs(HOLD_MS));
  await scene.rivalReleases(taken);
}
