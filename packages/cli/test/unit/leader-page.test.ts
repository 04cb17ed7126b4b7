/** The page that tells who leads, and pages that do not read it. */
import { get, type IncomingMessage } from 'node:http';
import { Holdfast, type Leader, memory } from 'holdfast';
import { until } from 'holdfast-testkit';
import { afterEach, expect, it } from 'vitest';
import { type LeaderPage, serveLeader } from '../../src/leader-page.js';

const ADDRESS = { host: '127.0.0.1', port: 0 };
const stops: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function serve(name: string, holdfast = new Holdfast(memory())): Promise<LeaderPage> {
  const page = await serveLeader(holdfast, name, ADDRESS);
  stops.push(() => holdfast.close({ grace: 0 }), page.close);
  return page;
}

/** Opens the events and reads nothing but the head. */
function listen(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}events`, { agent: false }, resolve);
    request.on('error', reject);
    stops.push(() => request.destroy());
  });
}

it('has at most 100 listeners, and room for another when one leaves', async () => {
  const { url } = await serve('crowd');
  const all = await Promise.all(Array.from({ length: 100 }, () => listen(url)));
  expect(all.every(({ statusCode }) => statusCode === 200)).toBe(true);
  expect((await listen(url)).statusCode).toBe(503);
  all[0]?.destroy();
  await until(async () => (await listen(url)).statusCode === 200);
});

it('closes a listener that does not read', async () => {
  const { leads, url } = await serve('x'.repeat(200));
  const response = await listen(url);
  let open = true;
  response.once('close', () => (open = false)).once('error', () => undefined);
  // more than the buffers of two sockets take
  await until(() => {
    for (let n = 0; n < 2000; n++) leads(n % 2 === 0);
    response.resume().pause();
    return !open;
  });
});

it('has the age of the term at the time of the request', async () => {
  const holdfast = new Holdfast(memory());
  const { term } = await holdfast.election('a').campaign();
  const { url } = await serve('a', holdfast);
  const ages = new Set<number>();
  await until(async () => {
    const { leader } = (await (await fetch(url)).json()) as { leader: Leader | null };
    if (leader !== null) ages.add(leader.ledFor);
    return ages.size > 2 && leader?.term === term;
  });
  // no change of the leader came between
  expect([...ages]).toEqual([...ages].sort((a, b) => a - b));
});
