/**
 * A server from Debian packages, unpacked into a folder, without root and without a change to the
 * system. It runs with the loader and libraries of its own suite, so a package from the newest
 * suite works on an older system.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// library names differ between suites: those that exist in the suite are downloaded
const LIBRARIES = [
  'libc6',
  'libssl3t64',
  'libssl3',
  'libssl1.1',
  'libstdc++6',
  'libgcc-s1',
  'libatomic1',
  'libjemalloc2',
  'liblzf1',
  'libsystemd0',
  'libcap2',
  'zlib1g',
  'libzstd1',
  'liblua5.1-0',
  'lua-cjson',
  'lua-bitop',
  'libgcrypt20',
  'libgpg-error0',
  'liblz4-1',
  'liblzma5',
];

/** Needed by MariaDB in addition. */
const MARIADB = [
  'libaio1',
  'libaio1t64',
  'libcrypt1',
  'libfmt9',
  'libfmt10',
  'libnuma1',
  'libpcre2-8-0',
  'liburing2',
];

/** Needed by PgBouncer in addition. */
const PGBOUNCER = [
  'libaudit1',
  'libc-ares2',
  'libcap-ng0',
  'libcares2',
  'libevent-2.1-7',
  'libevent-2.1-7t64',
  'libpam0g',
];

/** Where a program is in Debian's packages. */
interface Packaged {
  readonly packages: readonly string[];
  readonly file: string;
  /** `argv[0]`, which selects what the program is; `undefined`: the path. */
  readonly argv0: string | undefined;
  readonly libraries: readonly string[];
}

/** The programs that collect metrics. They are fetched together: most of the time goes to lists. */
export const COLLECTORS: readonly string[] = ['prometheus', 'victoria-metrics'];

function packaged(name: string): Packaged {
  if (COLLECTORS.includes(name)) {
    const libraries = ['libc6', 'libzstd1'];
    return { packages: COLLECTORS, file: `usr/bin/${name}`, argv0: name, libraries };
  }
  if (name === 'mariadb') {
    const [packages, file] = [['mariadb-server-core'], 'usr/sbin/mariadbd'];
    return { packages, file, argv0: 'mariadbd', libraries: [...LIBRARIES, ...MARIADB] };
  }
  if (name === 'etcd') {
    const [packages, file] = [['etcd-server'], 'usr/bin/etcd'];
    return { packages, file, argv0: 'etcd', libraries: ['libc6'] };
  }
  if (name === 'pgbouncer') {
    const [packages, file] = [['pgbouncer'], 'usr/sbin/pgbouncer'];
    return { packages, file, argv0: 'pgbouncer', libraries: [...LIBRARIES, ...PGBOUNCER] };
  }
  if (name === 'redis-6') {
    // the loader of that suite has no option for `argv[0]`
    const packages = ['redis-server', 'redis-tools'];
    return { packages, file: 'usr/bin/redis-server', argv0: undefined, libraries: LIBRARIES };
  }
  // the tools package contains the server's binary, which is also the check tool
  const file = `usr/bin/${name}-check-rdb`;
  return { packages: [`${name}-tools`], file, argv0: `${name}-server`, libraries: LIBRARIES };
}

/** The archive that this machine uses, and the keys that sign it. */
interface Archive {
  uri: string;
  signedBy: string | undefined;
}

/** This machine's Debian suite (`bookworm`); undefined if it is not Debian with apt. */
export function debianSuite(): string | undefined {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/etc/os-release')) return undefined;
  const release = readFileSync('/etc/os-release', 'utf8');
  if (!/^ID="?debian"?$/m.test(release)) return undefined;
  // testing and unstable have no version codename
  return /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1] ?? 'sid';
}

/** Unpacks the program `name` of `suite` into `folder`. */
export async function unpack(
  name: string,
  suite: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const apt = join(folder, 'apt');
  const archives = join(folder, 'deb');
  for (const sub of ['apt/lists/partial', 'apt/cache/archives/partial', 'deb/partial']) {
    mkdirSync(join(folder, sub), { recursive: true });
  }
  const { uri, signedBy } = archive();
  const { packages, libraries } = packaged(name);
  const option = signedBy === undefined ? '' : `[signed-by=${signedBy}] `;
  writeFileSync(join(apt, 'sources.list'), `deb ${option}${uri} ${suite} main\n`);
  const settings = {
    'Dir::Etc::SourceList': join(apt, 'sources.list'),
    'Dir::Etc::SourceParts': '/nonexistent',
    'Dir::State::Lists': join(apt, 'lists'),
    'Dir::Cache': join(apt, 'cache'),
    // ignores the packages installed on this machine: they may belong to another suite
    'Dir::State::status': '/dev/null',
    // translations are not needed and would be most of the download
    'Acquire::Languages': 'none',
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const command = (tool: string, ...args: string[]): Promise<{ stdout: string }> =>
    run(tool, [...options, ...args], { cwd: archives, signal, maxBuffer: 2 ** 26 });

  await command('apt-get', '-q', 'update');
  // `pkgnames` lists all names in one run; one query for each name takes a second each
  const known = new Set((await command('apt-cache', 'pkgnames')).stdout.split('\n'));
  const needed = libraries.filter((library) => known.has(library));
  await command('apt-get', '-q', 'download', ...packages, ...needed);
  for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
    await run('dpkg', ['-x', join(archives, file), folder], { signal });
  }
}

/** The command of the program `name` unpacked into `folder`; undefined if it is not there. */
export function unpacked(name: string, folder: string): string[] | undefined {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const { file, argv0 } = packaged(name);
  const binary = join(folder, file);
  const libraries = ['usr/lib', 'lib'].map((lib) => join(folder, lib, `${machine}-linux-gnu`));
  const loaders = libraries
    .filter((lib) => existsSync(lib))
    .flatMap((lib) => readdirSync(lib).map((file) => join(lib, file)))
    .filter((file) => /\/ld-linux-[^/]*\.so\.\d+$/.test(file));
  const loader = loaders[0];
  if (loader === undefined || !existsSync(binary)) return undefined;
  const named = argv0 === undefined ? [] : ['--argv0', argv0];
  return [loader, ...named, '--library-path', libraries.join(':'), binary];
}

/** The first apt source of Debian itself, in either of apt's two formats. */
function archive(): Archive {
  for (const { uri, suites, components, signedBy } of sources()) {
    if (uri === undefined || !/^https?:/.test(uri)) continue;
    const own = suites.some(
      (suite) => suite === debianSuite() || suite === 'sid' || suite === 'stable',
    );
    if (own && components.includes('main')) return { uri, signedBy };
  }
  throw new Error('the apt sources of this machine contain no Debian archive');
}

interface Source {
  uri: string | undefined;
  suites: string[];
  components: string[];
  signedBy: string | undefined;
}

function sources(): Source[] {
  const parts = '/etc/apt/sources.list.d';
  const files = existsSync(parts) ? readdirSync(parts).map((file) => join(parts, file)) : [];
  const read = (ending: string): string[] =>
    files.filter((file) => file.endsWith(ending)).map((file) => readFileSync(file, 'utf8'));
  const main = '/etc/apt/sources.list';
  const lists = existsSync(main) ? [readFileSync(main, 'utf8'), ...read('.list')] : read('.list');
  return [
    ...read('.sources').flatMap((text) => text.split(/\n\s*\n/).map(stanza)),
    ...lists.flatMap((text) => text.split('\n').flatMap(oneLine)),
  ];
}

function stanza(text: string): Source {
  const field = (name: string): string[] => {
    const line = new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(text)?.[1] ?? '';
    return line.split(/\s+/).filter((word) => word !== '');
  };
  return {
    uri: field('Types').includes('deb') ? field('URIs')[0] : undefined,
    suites: field('Suites'),
    components: field('Components'),
    // a key may also be embedded in the stanza; then apt's default keys are used instead
    signedBy: field('Signed-By').find((word) => word.startsWith('/')),
  };
}

function oneLine(line: string): Source[] {
  const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)$/.exec(line.trim());
  if (match === null) return [];
  const [, options = '', uri, suite = '', components = ''] = match;
  const signedBy = /signed-by=(\S+)/.exec(options)?.[1];
  return [{ uri, suites: [suite], components: components.split(/\s+/), signedBy }];
}
