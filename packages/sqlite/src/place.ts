/** What is looked at before a file is opened, and while it is open. */
import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { RegisterError } from 'holdfast/register';

/** Identifies a file, also if another one gets its name. */
export interface Identity {
  readonly dev: number;
  readonly ino: number;
}

/** File systems of several machines, by the `f_type` of Linux, see its manual for `statfs`. */
const SHARED: ReadonlyMap<number, string> = new Map([
  ...([
    [0x6969, 'NFS'],
    [0x517b, 'SMB'],
    [0xff534d42, 'CIFS'],
    [0xfe534d42, 'SMB'],
    [0x01021997, '9P'],
    [0x00c36400, 'Ceph'],
    [0x5346414f, 'AFS'],
    [0x6b414653, 'AFS'],
    [0x73757245, 'Coda'],
    [0x0bd00bd0, 'Lustre'],
    [0x7461636f, 'OCFS2'],
    [0x01161970, 'GFS2'],
    [0x47504653, 'GPFS'],
    [0x19830326, 'BeeGFS'],
    [0x786f4256, 'a shared folder of VirtualBox'],
  ] as const),
]);
/** Files of a program, perhaps those of another machine. */
const FUSE = 0x65735546;

/** The type of the file system of the file; `undefined` where no type is known. */
export function typeOf(path: string): number | undefined {
  // a link, or a mount of the file alone, leads elsewhere than its folder
  const place = existsSync(path) ? path : dirname(path);
  return process.platform === 'linux' ? statfsSync(place).type >>> 0 : undefined;
}

/** The name of the shared file system that has a type. */
export function sharedFileSystem(type: number | undefined): string | undefined {
  return SHARED.get(type ?? 0);
}

/** True if it cannot be told whether other machines use the file system. */
export function isUnclear(path: string): boolean {
  return typeOf(path) === FUSE;
}

/**
 * Throws if locks in the file would not exclude, or if it cannot be opened: SQLite does not tell
 * why. The file itself is not opened here: as soon as a process closes a file, the system drops the
 * locks that SQLite has on it in that process.
 * @param type the type of its file system
 */
export function checkPlace(path: string, type: number | undefined = typeOf(path)): void {
  const name = sharedFileSystem(type);
  if (name !== undefined) {
    const why = `${path} is on ${name}, where locks of files do not exclude other machines`;
    throw new RegisterError('refused', `${why}: use a disk of this machine`);
  }
  const rights = constants.R_OK | constants.W_OK;
  const file = existsSync(path) ? realpathSync(path) : path;
  accessSync(dirname(file), rights | constants.X_OK);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) throw new RegisterError('refused', `${path} is not a file`);
  accessSync(path, rights);
  if (found.nlink > 1) {
    const why = `${path} has a second name (a hard link), under which changes would be lost`;
    throw new RegisterError('refused', why);
  }
}

export function identityOf(path: string): Identity | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** True if the name leads to that file. */
export function isThere(path: string, { dev, ino }: Identity): boolean {
  const now = identityOf(path);
  return now !== undefined && now.ino === ino && now.dev === dev;
}
