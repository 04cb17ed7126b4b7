/** The clocks of a master's replicas: one may be the next master. */
import type { ServerLink } from '../../clients/admin.js';
import { openLine } from '../../clients/line.js';
import { measure, type Offset } from './delays.js';
import type { Info } from './facts.js';
import { Probe } from './probe.js';

export interface ReplicaClock {
  readonly address: string;
  readonly offset: Offset;
}

/** A line of INFO: `ip=127.0.0.1,port=6379,state=online,offset=…`. */
const REPLICA = /^ip=([^,]+),port=(\d+),state=online/;

export async function clocksOfReplicas(probe: Probe, info: Info): Promise<ReplicaClock[]> {
  // members of a quorum with replicas are reported
  if (probe.deployment.quorum !== undefined) return [];
  const found = [...info].flatMap(([name, value]) => {
    const [, host = '', port] = (/^slave\d+$/.test(name) && REPLICA.exec(value)) || [];
    return host === '' ? [] : [{ host, port: Number(port) }];
  });
  const clocks = await Promise.all(found.map((server) => clockOf(probe, server)));
  return clocks.filter((clock) => clock !== undefined);
}

async function clockOf(
  probe: Probe,
  server: { readonly host: string; readonly port: number },
): Promise<ReplicaClock | undefined> {
  const { deployment, port, link, terms } = probe;
  const address = `${server.host}:${server.port}`;
  const place = port.cluster === undefined ? '' : link.address;
  const opening = openLine(port, place, () => undefined, server);
  try {
    const line = await probe.answer(opening.line);
    const command = (words: readonly string[]): Promise<unknown> =>
      line.send([words])[0] as Promise<unknown>;
    const other: ServerLink = { address, host: server.host, command };
    const { offset } = await measure(new Probe(deployment, port, other, terms));
    return offset && { address, offset };
  } catch (error) {
    probe.add({
      code: 'could-not-look',
      severity: 'notice',
      message: 'the doctor could not read the clock of a replica',
      evidence: `${address}: ${error instanceof Error ? error.message : String(error)}`,
      advice: 'compare its clock with that of the master by another way',
    });
    return undefined;
  } finally {
    opening.close();
  }
}
