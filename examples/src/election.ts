/**
 * Two processes elect one leader. The leader is killed, and the other process becomes leader with a
 * higher term.
 *
 *     node examples/dist/election.js redis://127.0.0.1:6379
 */
import { type ChildProcess, fork } from 'node:child_process';
import { argv, exit, pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Holdfast } from 'holdfast';
import { Redis } from 'ioredis';

const [, , url, role] = argv;
if (url === undefined) {
  console.error('a server URL is required: node examples/dist/election.js redis://HOST:PORT');
  exit(2);
}
const redis = new Redis(url);
const holdfast = new Holdfast(redis, { ttl: 1000, closeOnSignals: ['SIGTERM'] });
const election = holdfast.election('example:leader');

async function candidate(): Promise<void> {
  await election.lead(async ({ term, signal }) => {
    console.log(`process ${pid} leads, term ${term}`);
    // work that continues until leadership ends
    await sleep(2 ** 30, undefined, { signal });
  });
  redis.disconnect();
}

async function show(server: string): Promise<void> {
  const start = (): ChildProcess => fork(fileURLToPath(import.meta.url), [server, 'candidate']);
  const children = [start(), start()];
  const terms: number[] = [];
  for await (const leader of election.observe({ every: 50 })) {
    const seen = leader === null ? 'no leader' : `process ${leader.pid}, term ${leader.term}`;
    console.log(`the observer sees: ${seen}`);
    if (leader === null) continue;
    terms.push(leader.term);
    if (terms.length === 2) break;
    console.log(`process ${leader.pid} is killed`);
    children.find((child) => child.pid === leader.pid)?.kill('SIGKILL');
  }
  console.log(`terms increase: ${(terms[1] as number) > (terms[0] as number)}`);
  for (const child of children) child.kill('SIGTERM');
  await holdfast.close();
  redis.disconnect();
}

await (role === 'candidate' ? candidate() : show(url));
