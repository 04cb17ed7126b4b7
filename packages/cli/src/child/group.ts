/** A process group, named by the id of its first process. */
import { readdirSync, readFileSync } from 'node:fs';

const PROC = '/proc';

/** Sends a signal to all processes of a group. Returns false if there is none. */
export function signalGroup(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name);
  } catch {
    return false;
  }
}

/**
 * True if a process of the group can still run. A zombie cannot, but it receives signals until its
 * parent takes notice of it, and in a container nothing may do that. Where there is no `/proc`,
 * zombies count.
 */
export function groupLives(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  let names: string[];
  try {
    names = readdirSync(PROC);
  } catch {
    return true;
  }
  const processes = names.filter((name) => /^\d+$/.test(name));
  return processes.length === 0 || processes.some((name) => runsIn(name, group));
}

function runsIn(name: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`${PROC}/${name}/stat`, 'utf8');
  } catch {
    return false;
  }
  // the name of the program is in parentheses, and may contain some
  const [state, , own] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(own) === group && state !== 'Z' && state !== 'X';
}
