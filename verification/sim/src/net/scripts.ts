/**
 * Executes script calls of the Redis store on the simulated server: the engine stands for the Lua
 * scripts. An error of one command of several leaves the others alone, as in the scripts.
 */
import type { ScriptCall } from '../../../../packages/holdfast/dist/store/clients/port.js';
import type {
  Command,
  KeyCommand,
  RenewMany,
} from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Library } from '../library.js';
import { commandsOf, resultOf, type ScriptName } from './script-calls.js';
import type { Server } from './server.js';

/** The result of a script call, or the message of an error reply. */
export type Outcome = { readonly raw: unknown } | { readonly error: string };

/** The result of the script of several renewals for a lease that needs all keys. */
const NEEDS_ALL_KEYS = -2;
/** The result of the script of several commands for one that it has not executed. */
const NOT_DONE = 0;

/** A call with its commands. */
export interface Decoded {
  /** `probe`: a script that returns its argument. */
  readonly script: ScriptName | 'probe';
  readonly call: ScriptCall;
  readonly commands: readonly Command[];
  /** The reply repeats it. */
  readonly proof: string;
}

export function decoded(library: Library, { args, ...terms }: ScriptCall): Decoded {
  const found = Object.entries(library.scripts).find(([, { sha }]) => sha === terms.sha);
  if (found === undefined) throw new Error(`there is no script ${terms.sha}`);
  const script = found[0] as ScriptName;
  const call = { ...terms, args: args.slice(0, -1) };
  return { script, call, commands: commandsOf(script, call), proof: args.at(-1) as string };
}

export function execute(server: Server, call: Decoded): Outcome {
  const { proof } = call;
  if (call.script === 'probe') {
    const { refuses } = server;
    const refused = refuses !== undefined && refuses !== 'OOM';
    return refused ? { error: refuses } : { raw: proof };
  }
  const outcome = run(server, call);
  return 'raw' in outcome ? { raw: [proof, outcome.raw] } : outcome;
}

function run(server: Server, { script, call, commands }: Decoded): Outcome {
  const [first] = commands as [Command];
  if (first.op === 'renewMany') return renewMany(server, call, first);
  // each has a call of its own
  if (script === 'inspectMany') return { raw: [server.now(), ...commands.map(() => NOT_DONE)] };
  if (script === 'acquireMany' || script === 'releaseMany') return several(server, commands);
  const answer = server.execute(first);
  if ('error' in answer) return answer;
  return { raw: resultOf(first.op, answer.reply) };
}

function several(server: Server, commands: readonly Command[]): Outcome {
  const raw: unknown[] = [server.now()];
  for (const [at, command] of commands.entries()) {
    const answer = server.execute(command);
    if ('error' in answer && answer.error !== 'OOM') return answer;
    const done = 'reply' in answer;
    raw.push(at + 1, done ? resultOf((command as KeyCommand).op, answer.reply) : NOT_DONE);
  }
  return { raw };
}

function renewMany(server: Server, { keys }: ScriptCall, command: RenewMany): Outcome {
  const { ids } = command;
  // the first call has the main records only
  const hasAll = keys.length > ids.length;
  const [own, rest]: [number[], number[]] = [[], []];
  for (const [at, key] of command.keys.entries()) {
    (hasAll || isPlain(server, key) ? own : rest).push(at);
  }
  const raw: number[] = [server.now()];
  for (const at of rest) raw.push(at + 1, NEEDS_ALL_KEYS);
  if (own.length === 0) return { raw };
  const pick = (list: readonly string[]): string[] => own.map((at) => list[at] as string);
  const answer = server.execute({ ...command, keys: pick(command.keys), ids: pick(ids) });
  if ('error' in answer) return answer;
  if (answer.reply.status !== 'renewals') throw new Error('not a reply to renewals');
  for (const [index, left] of answer.reply.left.entries()) {
    raw.push((own[index] as number) + 1, left);
  }
  return { raw };
}

/** True for the record of a mutex without waiters. */
function isPlain(server: Server, key: string): boolean {
  const resource = server.engine.resource(key);
  return resource === undefined || (resource.capacity === 1 && resource.queue.size === 0);
}
