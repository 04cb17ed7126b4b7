/** Each command that uses a store, on any store. */
import { freePorts, paced, until } from 'holdfast-testkit';
import { expect } from 'vitest';
import { answered, Cli, type cli, isUnanswered } from './cli.js';

type Result = Awaited<ReturnType<typeof cli>>;

/** On a busy machine a store answers late, and that is no finding. */
const PATIENT = ['--ttl', '2m', '--claim-window', '1m'];

/** A command runs under a lock; the others see it, keep out, and take other locks meanwhile. */
export async function everyCommand(url: string): Promise<void> {
  const at = (...words: string[]): Promise<Result> => answered([...words, '--url', url]);
  const under = (words: readonly string[], ...command: string[]): Promise<Result> =>
    answered([...words, '--url', url, '--', ...command]);
  const cat = ['sh', '-c', 'echo in; cat'];
  await using running = await started(['run', 'job', '--url', url, '--', ...cat], (one) =>
    one.stdout.includes('in'),
  );
  const [listed, inspected, watched, waited, busy, once, doctor] = await Promise.all([
    at('ls', 'j*', '--json'),
    at('inspect', 'job', '--json'),
    at('watch', 'job', '--count', '1', '--json'),
    at('wait', 'job', '--wait', '10ms', '--every', '10ms'),
    under(['run', 'job', '-n'], 'echo', 'ran'),
    under(['once', 'report', '--at-least', '1h', '--slot', '1'], 'echo', 'ran'),
    at('doctor', ...PATIENT),
    leads(url),
    shows(url),
  ]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ key: 'job', holderCount: 1 });
  expect(JSON.parse(inspected.stdout)).toMatchObject({ key: 'job', holders: [{ label: 'sh' }] });
  expect(JSON.parse(watched.stdout)).toMatchObject({ locks: [{ key: 'job', holderCount: 1 }] });
  expect(waited).toMatchObject({ code: 75, stdout: '' });
  expect(busy).toMatchObject({ code: 75, stdout: '' });
  expect(once).toMatchObject({ code: 0, stdout: 'ran\n' });
  expect(doctor.code).toBe(0);
  expect(doctor.stdout).toMatch(/^(nothing found|SEVERITY)/);

  expect(await at('break', 'job', '--yes', '--reason', 'stuck')).toMatchObject({ code: 0 });
  expect(await running.exited).toMatchObject({ code: 70 });
  expect(running.stderr).toContain('stuck');
  expect(await under(['run', 'job'], 'echo', 'ran')).toMatchObject({ code: 0, stdout: 'ran\n' });
}

/** Starts a program that stays; again if the store does not answer in time, see `answered`. */
async function started(
  args: readonly string[],
  isUp: (program: Cli) => boolean | Promise<boolean>,
): Promise<Cli> {
  for (;;) {
    const program = new Cli(args);
    let hasEnded = false;
    void program.exited.then(() => (hasEnded = true));
    const what = `${args[0]} is up`;
    await until(async () => hasEnded || (await isUp(program)), { within: paced(30_000), what });
    if (!hasEnded) return program;
    if (!isUnanswered(program.stderr)) throw new Error(program.stderr);
  }
}

/** The page of `lead` says that this process leads. */
async function leads(url: string): Promise<void> {
  const [port] = await freePorts(1);
  let seen: unknown;
  const look = async (): Promise<boolean> => {
    seen = await (await fetch(`http://127.0.0.1:${port}/`)).json();
    return (seen as { leader: unknown }).leader !== null;
  };
  const args = ['lead', 'main', '--http', `${port}`, '--url', url, '--', 'cat'];
  await using leader = await started(args, look);
  expect(seen).toMatchObject({
    ...{ name: 'main', leads: true, reachable: true, leader: { label: 'cat' } },
  });
  leader.endInput();
  expect(await leader.exited).toMatchObject({ code: 0 });
}

/** The live view has the lock. */
async function shows(url: string): Promise<void> {
  const [port] = await freePorts(1);
  const address = /the locks are at (\S+)/;
  const args = ['dashboard', '--port', `${port}`, '--url', url];
  await using program = await started(args, ({ stderr }) => address.test(stderr));
  const { origin, searchParams } = new URL(address.exec(program.stderr)?.[1] as string);
  const headers = { authorization: `Bearer ${searchParams.get('token')}` };
  const lock = await (await fetch(`${origin}/api/lock?key=job`, { headers })).json();
  expect(lock).toMatchObject({ key: 'job', holderCount: 1 });
}
