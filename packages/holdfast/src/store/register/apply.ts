/** Commands applied to a state, before it is swapped. */
import type { KeyCommand, KeyReply, Micros } from '../../engine/commands.js';
import type { Engine, Outcome } from '../../engine/engine.js';
import type { Addressed } from '../../engine/serve.js';
import { checkedVersioned } from './checked.js';
import { atCommit } from './commit-time.js';
import { applyHeldBack, holdBack } from './held-back.js';
import type { Versioned } from './register.js';
import { StoreFailure } from '../port.js';
import { bodyOf, decode, encode, fenceOf, type Loaded, unchanged } from './state-codec.js';

export interface Applied {
  readonly replies: readonly (KeyReply | StoreFailure)[];
  readonly pushes: readonly Addressed[];
  readonly body: string;
  readonly time: Micros;
}

/** Commands that may add to a state, and are refused if it would be too long. */
const GROWING: ReadonlySet<KeyCommand['op']> = new Set(['acquire', 'park', 'arrive', 'watch']);

export interface ApplyTerms {
  readonly key: string;
  readonly time: Micros;
  readonly late: Micros;
  readonly stateMax: number;
  readonly heldBack: boolean;
}

/**
 * The engine counts the arrival of a task back from its time, which may be too early. The task must
 * not overtake a waiter that came first.
 */
function arrivedLater(command: KeyCommand, late: Micros): KeyCommand {
  if (!('waited' in command) || command.waited === undefined || late <= 0) return command;
  return { ...command, waited: Math.max(0, command.waited - Math.ceil(late / 1000)) };
}

function applyOne(
  engine: Engine,
  command: KeyCommand,
  { time, late, heldBack }: ApplyTerms,
): Outcome<KeyCommand> {
  const arrived = arrivedLater(command, late);
  return heldBack ? applyHeldBack(engine, arrived, time) : engine.apply(arrived, time);
}

export function applyAll(
  current: Loaded,
  commands: readonly KeyCommand[],
  terms: ApplyTerms,
): Applied {
  const { key, time, stateMax } = terms;
  // a state that is forgotten meanwhile starts above its last fence
  current.engine.floor = Math.max(current.engine.floor, fenceOf(key, current.engine));
  const replies: KeyReply[] = [];
  const pushes: Addressed[] = [];
  for (const command of commands) {
    const outcome = applyOne(current.engine, command, terms);
    replies.push(outcome.reply);
    if (outcome.pushes.length > 0) pushes.push(...outcome.pushes);
  }
  const body = bodyOf(key, current.engine);
  if (body.length > stateMax && body.length > current.body.length) {
    return applyBounded(current, commands, terms);
  }
  return { replies, pushes, body, time };
}

type Alive = (channels: readonly string[]) => Promise<readonly boolean[]>;

/**
 * The engine of the state changes. A waiter whose process is known to be dead is not granted: the
 * others would wait until its lease ends.
 */
export function applyToLiving(
  current: Loaded,
  commands: readonly KeyCommand[],
  terms: ApplyTerms,
  alive: Alive,
): Applied | Promise<Applied> {
  const { floor } = current.engine;
  const applied = applyAll(current, commands, terms);
  if (!applied.pushes.some(({ push }) => push.kind === 'grant')) return applied;
  return appliedAlive(applied, floor, [current, commands, terms, alive]);
}

async function appliedAlive(
  first: Applied,
  floor: number,
  [current, commands, terms, alive]: Parameters<typeof applyToLiving>,
): Promise<Applied> {
  const asked = new Set<string>();
  const dead = new Set<string>();
  for (let applied = first; ; applied = applyAll(current, commands, terms)) {
    const granted = applied.pushes.filter(({ push }) => push.kind === 'grant');
    const channels = [...new Set(granted.map(({ channel }) => channel))];
    const unknown = channels.filter((channel) => !asked.has(channel));
    if (unknown.length === 0) return applied;
    const answers = await alive(unknown);
    for (const [at, channel] of unknown.entries()) {
      asked.add(channel);
      if (answers[at] === false) dead.add(channel);
    }
    if (!unknown.some((channel) => dead.has(channel))) return applied;
    const { engine } = decode(terms.key, encode(current.time, current.body), floor, dead);
    Object.assign(current, { engine });
  }
}

export async function inspected(
  command: KeyCommand,
  looked: Promise<Versioned>,
): Promise<KeyReply> {
  const { state, time, latest = time } = checkedVersioned(await looked);
  const { engine, time: last } = decode(command.key, state);
  return atCommit(engine.apply(command, Math.max(last, time)).reply, latest);
}

/** Applies the commands one by one. */
function applyBounded(
  current: Loaded,
  commands: readonly KeyCommand[],
  terms: ApplyTerms,
): Applied {
  const { key, time, stateMax, heldBack } = terms;
  const replies: (KeyReply | StoreFailure)[] = [];
  const pushes: Addressed[] = [];
  let { body } = current;
  const { floor } = current.engine;
  const load = (): Engine => {
    const { engine: loaded } = decode(key, encode(current.time, body), floor);
    if (heldBack) holdBack(loaded.resource(key), time);
    return loaded;
  };
  let engine = load();
  for (const command of commands) {
    const outcome = applyOne(engine, command, terms);
    const after = bodyOf(key, engine);
    const isTooLong = after.length > stateMax && after.length > body.length;
    if (isTooLong && GROWING.has(command.op)) {
      engine = load();
      replies.push(tooLong(stateMax));
      continue;
    }
    body = after;
    replies.push(outcome.reply);
    pushes.push(...outcome.pushes);
  }
  Object.assign(current, { engine });
  return { replies, pushes, body, time };
}

function tooLong(stateMax: number): StoreFailure {
  const message =
    `the state of the key would have more than ${stateMax} characters; ` +
    'let fewer acquisitions hold or wait for one key, or use shorter labels';
  return unchanged(new StoreFailure(message, 'refused', undefined));
}
