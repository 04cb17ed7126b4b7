/**
 * Checks the models of `formal/` exhaustively with SPIN. The models of the actual protocol must
 * have no errors; the models with planted mistakes must have errors.
 *
 *   npm run model             the runs of the test suite: 1 to 2 minutes
 *   npm run model -- --only roots   one model
 *   npm run model -- --full   also more faults: minutes, and about 6 GB of memory
 *
 * SPIN generates a checker in C, so a C compiler is needed too. As root on Debian, missing packages
 * are installed.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);
const MODELS = fileURLToPath(new URL('../verification/formal/', import.meta.url));
const DEPTH = 4_000_000;
/** A planted mistake is found at a small depth, and a deep stack takes time to allocate. */
const DEPTH_OF_MISTAKES = 400_000;
const OUTPUT_MAX = 2 ** 26;

/**
 * @typedef {object} Setting
 * @property {'handoff' | 'roots' | 'neighbours' | 'lease' | 'quorum' | 'register'} model
 * @property {string} name
 * @property {string[]} defines
 * @property {boolean} [cycles] Searches for runs without end, instead of wrong states.
 * @property {boolean} [fault] A mistake is planted and must be found.
 * @property {boolean} [plain] The states fit into 900 MB without compression, which takes a third
 *   of the time.
 * @property {'REVERSE' | 'T_REVERSE'} [order] The search takes processes or steps in reverse order.
 *   This finds a mistake sooner that is late in the usual order; a search without a finding visits
 *   all states in any order.
 */

/** @type {Setting[]} */
const SHARE = [
  { model: 'handoff', name: 'in every state', defines: ['FAULTS=1'] },
  { model: 'handoff', name: 'every run ends', defines: ['FAULTS=1'], cycles: true },
  { model: 'handoff', name: 'fair: in every state', defines: ['FAULTS=1', 'HAND_OFFS=0'] },
  {
    model: 'handoff',
    name: 'fair: every run ends',
    defines: ['FAULTS=1', 'HAND_OFFS=0'],
    cycles: true,
  },
  { model: 'handoff', name: 'pushes alone suffice', defines: ['FAULTS=1', 'PUSH_ALONE'] },
  { model: 'roots', name: 'in every state', defines: ['FAULTS=1'] },
  {
    model: 'roots',
    name: 'every run ends, three tasks',
    defines: ['FAULTS=1', 'FEW_TASKS'],
    cycles: true,
  },
  { model: 'roots', name: 'fair, and deletion of the key', defines: ['FAULTS=1', 'FAIR', 'CLOCK'] },
  { model: 'roots', name: 'pushes alone suffice, one entry', defines: ['FAULTS=1', 'CALM'] },
  { model: 'roots', name: 'two faults, three tasks', defines: ['FAULTS=2', 'FEW_TASKS'] },
  { model: 'roots', name: 'replies are lost', defines: ['FAULTS=1', 'MUTE', 'FEW_TASKS'] },
  { model: 'neighbours', name: 'in every state, no fault', defines: ['FAULTS=0'], plain: true },
  { model: 'lease', name: 'the holder ends it first', defines: [], plain: true },
  {
    model: 'quorum',
    name: 'in every state, three reads',
    defines: ['STARTS=3', 'END=0'],
    plain: true,
  },
  {
    model: 'quorum',
    name: 'in every state, two reads, time',
    defines: ['STARTS=2', 'END=2'],
    plain: true,
  },
  { model: 'register', name: 'in every state', defines: ['SWAPS=3'], plain: true },
  {
    model: 'register',
    name: 'an older state is restored',
    defines: ['SWAPS=3', 'END=2', 'RESTORE'],
    plain: true,
  },
  ...[
    ['NO_COMPARE', 'FAULTS=1'],
    ['NO_WITHDRAWAL', 'FAULTS=1'],
    ['FENCE_FORGOTTEN', 'FAULTS=1'],
    ['FENCES_BACK_AT_EXPIRY', 'FAULTS=1'],
    // the code mended for one mistake also covers the other here
    ['OVERTAKES', 'FAULTS=1', 'BUG_PASSED_TOO_LATE'],
    ['NO_POLLING', 'FAULTS=1'],
    ['RELEASE_SERVES_NOBODY', 'FAULTS=1', 'PUSH_ALONE'],
    ['DEAD_NOT_SKIPPED', 'FAULTS=1', 'PUSH_ALONE'],
    ['CHANNEL_NOT_TOLD', 'FAULTS=1', 'PUSH_ALONE'],
    ['SUBSCRIBED_TOO_LATE', 'FAULTS=1', 'PUSH_ALONE'],
  ].map(([bug = '', ...defines]) => planted('handoff', bug, defines)),
  ...[
    ['NO_CLOCK', 'FAULTS=1'],
    ['ONE_PASS_MORE', 'FAULTS=1', 'PASSES_ALONE=1'],
    ['USED_NOT_TOLD', 'FAULTS=1'],
    ['FENCES_BACK_AT_EXPIRY', 'FAULTS=1'],
    ['FENCES_STAY', 'FAULTS=1', 'CLOCK'],
    ['FAIR_OVERTAKEN', 'FAULTS=1', 'FAIR'],
    ['AGAIN_AHEAD', 'FAULTS=1'],
    ['TURN_WITHOUT_ROOT', 'FAULTS=1'],
    ['TURN_UNNAMED', 'FAULTS=2', 'FEW_TASKS'],
    ['NOT_ASKED_ANEW', 'FAULTS=1'],
    ['ABORT_WITHDRAWS_ALL', 'FAULTS=1'],
    ['WITHDRAWN_TOO_EARLY', 'FAULTS=2'],
    ['WITHDRAWN_TOO_LATE', 'FAULTS=1', 'MUTE', 'FEW_TASKS'],
    ['WITHDRAWN_ONCE', 'FAULTS=2', 'MUTE', 'FEW_TASKS'],
    ['NO_POLLING', 'FAULTS=1'],
    ['SECOND_ENTRY', 'FAULTS=1', 'CALM'],
  ].map(([bug = '', ...defines]) => planted('roots', bug, defines)),
  ...[
    ['ANY_TASK', 'FAULTS=0', 'NO_ABORTS'],
    ['ASKING', 'FAULTS=1', 'NO_ABORTS'],
    ['OPEN_GROUP', 'FAULTS=0', 'NO_ABORTS'],
  ].map(([bug = '', ...defines]) => planted('neighbours', bug, defines)),
  { ...planted('neighbours', 'FORGOTTEN_CHAIN', ['FAULTS=0']), order: 'REVERSE' },
  ...['FROM_ANSWER', 'NO_MARGIN', 'PUSH_FROM_RECEIPT', 'WAIT_NOT_COUNTED', 'HAND_OFF_RENEWS'].map(
    (bug) => planted('lease', bug, []),
  ),
  ...['HALF', 'NO_PROMISE', 'NO_GUARD', 'KEEP_SHRINKS', 'ONE_CLOCK'].map((bug) =>
    planted('quorum', bug, ['STARTS=2', 'END=2']),
  ),
  planted('quorum', 'PUSH_EARLY', ['STARTS=4', 'END=0']),
  planted('quorum', 'HAND_TWICE', ['STARTS=3', 'END=0']),
  ...[
    ...['NO_COMPARE', 'FENCE_FORGOTTEN', 'TAKEN_EARLY', 'FROM_ANSWER', 'NOT_AT_COMMIT'],
    'UNANSWERED_IS_DONE',
  ].map((bug) => planted('register', bug, ['SWAPS=3'])),
  planted('register', 'RELEASES_ANY', ['SWAPS=4']),
  { ...planted('register', 'COUNTED', ['SWAPS=4']), order: 'T_REVERSE' },
  planted('register', 'SEQUENCE', ['SWAPS=3', 'RESTORE']),
];

/** @type {Setting[]} */
const FULL = [
  { model: 'handoff', name: 'in every state, two faults', defines: ['FAULTS=2'] },
  {
    model: 'handoff',
    name: 'fair: in every state, two faults',
    defines: ['FAULTS=2', 'HAND_OFFS=0'],
  },
  { model: 'handoff', name: 'in every state, three faults', defines: ['FAULTS=3'] },
  { model: 'handoff', name: 'every run ends, two faults', defines: ['FAULTS=2'], cycles: true },
  planted('handoff', 'PASSED_TOO_LATE', ['FAULTS=3']),
  { model: 'roots', name: 'in every state, two faults', defines: ['FAULTS=2'] },
  {
    model: 'roots',
    name: 'replies are lost, two faults',
    defines: ['FAULTS=2', 'MUTE', 'FEW_TASKS'],
  },
  { model: 'roots', name: 'every run ends', defines: ['FAULTS=1'], cycles: true },
  {
    model: 'roots',
    name: 'every run ends, two faults',
    defines: ['FAULTS=2', 'FEW_TASKS'],
    cycles: true,
  },
  { model: 'neighbours', name: 'in every state, one fault', defines: ['FAULTS=1'] },
  { model: 'lease', name: 'the holder ends it first', defines: ['TTL=6', 'DRIFT=7'] },
  { model: 'quorum', name: 'two reads, more time', defines: ['STARTS=2', 'END=3'] },
  {
    model: 'quorum',
    name: 'two reads, split, late messages',
    defines: ['STARTS=2', 'END=1', 'LIFE=1', 'SPLIT'],
  },
  { model: 'register', name: 'in every state, two faults', defines: ['SWAPS=3', 'FAULTS=2'] },
  { model: 'register', name: 'in every state, four swaps', defines: ['SWAPS=4'] },
  {
    model: 'register',
    name: 'an older state is restored, later',
    defines: ['SWAPS=3', 'RESTORE'],
  },
];

/**
 * @param {Setting['model']} model
 * @param {string} bug
 * @param {string[]} defines
 * @returns {Setting}
 */
function planted(model, bug, defines) {
  return { model, name: `mistake ${bug}`, defines: [...defines, `BUG_${bug}`], fault: true };
}

/**
 * @param {string} command
 * @param {string[]} args
 */
async function there(command, args) {
  return run(command, args).then(
    () => true,
    () => false,
  );
}

/** Installs missing packages if possible; resolves to the list of those still missing. */
async function provide() {
  const missing = async () => {
    const spin = await there('spin', ['-V']);
    const cc = await there('cc', ['--version']);
    return [...(spin ? [] : ['spin']), ...(cc ? [] : ['gcc', 'libc6-dev'])];
  };
  const before = await missing();
  if (before.length === 0) return '';
  if (process.getuid?.() === 0 && (await there('apt-get', ['--version']))) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await run('apt-get', ['-q', 'update'], { env }).catch(() => undefined);
    await run('apt-get', ['-q', '-y', 'install', ...before], { env }).catch(() => undefined);
  }
  return (await missing()).join(', ');
}

/**
 * @param {Setting} setting
 * @param {string} folder
 */
async function check({ model, defines, cycles, fault, order, plain }, folder) {
  const options = { cwd: folder, maxBuffer: OUTPUT_MAX };
  const words = defines.map((define) => `-D${define}`);
  await run('spin', [...words, '-a', join(MODELS, `${model}.pml`)], options);
  const kind = cycles ? ['-DNP'] : ['-DSAFETY'];
  if (!plain) kind.push('-DCOLLAPSE');
  if (order !== undefined) kind.push(`-D${order}`);
  // For a short run, optimisation takes longer than it saves; -O2 takes twice the time of -O1.
  const short = fault || (model === 'roots' && defines.includes('FAULTS=1'));
  const optimised = short && !defines.includes('STARTS=4') ? '-O0' : '-O1';
  await run('cc', [optimised, '-w', ...kind, '-o', 'pan', 'pan.c'], options);
  const size = [`-m${fault ? DEPTH_OF_MISTAKES : DEPTH}`];
  // few states: a smaller table is faster to allocate, and it grows
  if (fault && optimised === '-O0') size.push('-w18');
  const { stdout } = await run(join(folder, 'pan'), [...size, ...(cycles ? ['-l'] : [])], {
    ...options,
  }).catch((/** @type {{ stdout: string }} */ error) => error);
  const errors = number(stdout, /errors: (\d+)/);
  const complete = !/Search not completed|out of memory|max search depth too small/i.test(stdout);
  const good = fault ? errors > 0 : errors === 0 && complete;
  return {
    good,
    states: number(stdout, /^\s*(\d+(?:\.\d+e\+\d+)?) states, stored/m),
    seconds: number(stdout, /elapsed time ([\d.]+) seconds/),
    what: /pan:1: (.*?)(?: \(at depth|$)/m.exec(stdout)?.[1] ?? '',
    stdout,
  };
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function number(text, pattern) {
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
}

async function main() {
  const { values } = parseArgs({
    options: { full: { type: 'boolean', default: false }, only: { type: 'string' } },
  });
  const missing = await provide();
  if (missing !== '') throw new Error(`the models need these packages: ${missing}`);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-model-'));
  let failures = 0;
  console.log('model      property                               states      s  result');
  try {
    for (const setting of values.full ? [...SHARE, ...FULL] : SHARE) {
      if (values.only !== undefined && values.only !== setting.model) continue;
      const { good, states, seconds, what, stdout } = await check(setting, folder);
      const result = setting.fault ? `found: ${what}` : `holds ${what}`;
      console.log(
        `${setting.model.padEnd(10)} ${setting.name.padEnd(35)} ${String(states).padStart(9)} ` +
          `${seconds.toFixed(1).padStart(6)}  ${good ? result : 'WRONG'}`,
      );
      if (good) continue;
      failures += 1;
      console.log(stdout);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(failures === 0 ? 'all results as expected' : `${failures} unexpected results`);
  process.exitCode = failures === 0 ? 0 : 1;
}

await main();
