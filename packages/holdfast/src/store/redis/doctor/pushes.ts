/** Publishes a message to itself, as a script does, and waits for it. */
import type { Subscription } from '../../clients/port.js';
import { isMissingRight } from '../advice.js';
import type { ProbeNames } from './names.js';
import type { Probe } from './probe.js';
import { report } from './rights.js';

const SOURCE = 'return redis.pcall(ARGV[1], ARGV[2], ARGV[3])';
const TEXT = 'doctor';

export async function judgePushes(probe: Probe, names: ProbeNames): Promise<void> {
  let arrived = (): void => undefined;
  const message = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const subscription = await open(probe, names.channel, arrived);
  if (subscription === undefined) return;
  try {
    const receivers = await publish(probe, names);
    if (receivers === undefined) return;
    const came = await within(probe, message);
    if (!came) lost(probe, `PUBLISH counted ${receivers} receivers, and no message came`);
  } finally {
    await subscription.close();
  }
}

async function open(
  probe: Probe,
  channel: string,
  message: () => void,
): Promise<Subscription | undefined> {
  const { link, port } = probe;
  const nothing = (): void => undefined;
  const once = { message, over: nothing };
  const opening =
    port.cluster?.subscribe(link.address, channel, once) ??
    port.sentinel?.subscribe(channel, once) ??
    port.subscribe(channel, { message, up: nothing, down: nothing });
  try {
    return await probe.answer(opening);
  } catch (error) {
    // a later success is closed
    opening.then((late) => late.close()).catch(nothing);
    const why = error instanceof Error ? error.message : String(error);
    if (/^(WRONGPASS|NOAUTH)\b/.test(why)) loginRefused(probe, why);
    else if (isMissingRight(why)) report(probe, new Map([['subscribe', why]]));
    else lost(probe, `the subscription failed: ${why}`);
    return undefined;
  }
}

async function publish(probe: Probe, { channel, keys }: ProbeNames): Promise<string | undefined> {
  const word = probe.port.cluster === undefined ? 'PUBLISH' : 'SPUBLISH';
  try {
    return String(await probe.answer(probe.port.eval(SOURCE, keys, [word, channel, TEXT])));
  } catch (error) {
    // a missing right was reported before
    const reply = probe.refusal(error);
    if (!isMissingRight(reply)) lost(probe, reply);
    return undefined;
  }
}

function within({ terms }: Probe, message: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = terms.clock.after(terms.requestTimeout, () => resolve(false));
    void message.then(() => {
      timer.cancel();
      resolve(true);
    });
  });
}

function loginRefused(probe: Probe, evidence: string): void {
  probe.add({
    code: 'login-refused',
    severity: 'warning',
    message:
      'the server refuses the login that the options of the client have: no connection of it can ' +
      'be opened again, so waiters poll, and after the next lost connection locks stop',
    evidence,
    advice: 'set the present password in the options of the client; see docs/clients.md',
  });
}

function lost(probe: Probe, evidence: string): void {
  probe.add({
    code: 'no-pushes',
    severity: 'warning',
    message: 'messages do not arrive: waiters learn by polling only that a lock is free',
    evidence,
    advice: 'connect without a proxy between, or with one that passes pub/sub to the same server',
  });
}
