/**
 * The processes of a command: those of its session, and their descendants in other sessions.
 *
 * A shell, `timeout` or `setsid` puts processes into groups and sessions of their own, and `sudo`
 * runs them as another user. So a signal to the process group reaches some of them only, and says
 * "gone" for the others. The members are read from `/proc`. A member that was seen once stays one,
 * also if its parent ends. Where there is no `/proc`, the members are the process group.
 */
import { readdirSync, readFileSync } from 'node:fs';

const PROC = '/proc';
/** Milliseconds between two looks. */
const LOOK_MS = 20;
const SLOW_LOOK_MS = 500;
/** Milliseconds after SIGKILL in which a process is gone. */
const GONE_MS = 200;

export interface Member {
  readonly pid: number;
  /** The name of its program; empty if it is not known. */
  readonly name: string;
}

interface Entry extends Member {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** A zombie cannot run. In a container there may be nothing that takes notice of its end. */
  readonly isZombie: boolean;
  /** The time of its start: tells it from a later process with the same id. */
  readonly start: string;
}

export class Members {
  readonly #leader: number;
  /** The start times of the members that were seen, by their ids. */
  #seen: ReadonlyMap<number, string> = new Map<number, string>();

  /** @param leader the first process, whose id is that of its session and its group */
  constructor(leader: number) {
    this.#leader = leader;
  }

  /** Sends a signal to the process group of the command. */
  signalGroup(name: NodeJS.Signals): void {
    send(-this.#leader, name);
  }

  /** Sends a signal to each member. */
  signal(name: NodeJS.Signals): void {
    const others = this.#look().filter(({ group }) => group !== this.#leader);
    this.signalGroup(name);
    for (const { pid } of others) send(pid, name);
  }

  /** The members that can still run. */
  living(): readonly Member[] {
    return this.#look();
  }

  /** Waits until no member lives. Resolves to false if some do after the time. */
  async gone(within: number, every: number = LOOK_MS): Promise<boolean> {
    const end = performance.now() + within;
    while (this.living().length > 0) {
      if (performance.now() >= end) return false;
      await new Promise((resolve) => setTimeout(resolve, every));
    }
    return true;
  }

  /**
   * Sends SIGKILL until no member lives.
   * @param outlive called once if members live on: this process may not end those of other users
   * @param goesOn whether to wait for those
   */
  async kill(
    outlive: (members: readonly Member[]) => void,
    goesOn: () => boolean = () => true,
  ): Promise<void> {
    this.signal('SIGKILL');
    if (await this.gone(GONE_MS)) return;
    outlive(this.living());
    while (goesOn() && !(await this.gone(SLOW_LOOK_MS, SLOW_LOOK_MS))) this.signal('SIGKILL');
  }

  #look(): readonly Entry[] {
    const all = processes();
    if (all === undefined) return send(-this.#leader, 0) === 'gone' ? [] : [this.#hidden()];
    const found = this.#among(all);
    this.#seen = new Map(found.map(({ pid, start }) => [pid, start]));
    if (found.length > 0 || all.some(({ group }) => group === this.#leader)) return found;
    // `/proc` may hide the processes of other users
    return send(-this.#leader, 0) === 'refused' ? [this.#hidden()] : [];
  }

  #among(all: readonly Entry[]): Entry[] {
    const isRoot = ({ session, pid, start }: Entry): boolean =>
      session === this.#leader || this.#seen.get(pid) === start;
    const found = new Set(all.filter((one) => !one.isZombie && isRoot(one)));
    for (const { pid } of found) {
      for (const one of all) if (one.parent === pid && !one.isZombie) found.add(one);
    }
    return [...found];
  }

  #hidden(): Entry {
    const pid = this.#leader;
    return { pid, name: '', parent: 0, group: pid, session: pid, isZombie: false, start: '' };
  }
}

/** `refused`: there is such a process, and it belongs to another user. */
function send(pid: number, name: NodeJS.Signals | 0): 'sent' | 'refused' | 'gone' {
  try {
    process.kill(pid, name);
    return 'sent';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'refused';
  }
}

/** All processes that this one sees; `undefined` without `/proc`. */
function processes(): Entry[] | undefined {
  let names: string[];
  try {
    names = readdirSync(PROC).filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
  const all = names.flatMap((name) => entryOf(name) ?? []);
  return all.length === 0 ? undefined : all;
}

function entryOf(id: string): Entry | undefined {
  let stat: string;
  try {
    stat = readFileSync(`${PROC}/${id}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // the name of the program is in parentheses, and may contain some
  const end = stat.lastIndexOf(')');
  const name = stat.slice(stat.indexOf('(') + 1, end);
  const fields = stat.slice(end + 2).split(' ');
  const [state = '', parent, group, session] = fields;
  return {
    ...{ pid: Number(id), name, parent: Number(parent), group: Number(group) },
    ...{ session: Number(session), isZombie: 'ZX'.includes(state), start: fields[19] ?? '' },
  };
}
