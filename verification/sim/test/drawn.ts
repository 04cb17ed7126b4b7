/**
 * The methods and options of the public classes, read from the report of the public API, and those
 * that the simulator does not draw, each with a reason.
 */

/** The classes of an instance and of what it makes, as in `watch/calls.ts`. */
const CLASSES: readonly string[] = [
  ...['AllOf', 'Barrier', 'Condition', 'Election', 'Holdfast', 'Latch', 'Leadership', 'Lease'],
  ...['MultiLease', 'Mutex', 'OwnerLocks', 'PlainMutex', 'RwLease', 'RwLock', 'RwSide'],
  ...['Schedule', 'ScheduledRun', 'Semaphore', 'SemaphoreLease', 'SingleFlight', 'HoldfastCore'],
];

interface Reported {
  readonly above: string | undefined;
  readonly members: ReadonlyMap<string, readonly string[]>;
}

/** The options of a type of the report. */
function optionsOf(report: string, type: string): string[] {
  const [, head = '', body = ''] =
    new RegExp(`^export interface ${type}( extends [^{]*)? \\{$(.*?)^\\}$`, 'ms').exec(report) ??
    [];
  const alias = new RegExp(`^export type ${type} = (Pick<.*>);$`, 'm').exec(report)?.[1] ?? '';
  const own = [...body.matchAll(/^ {4}readonly (\w+)\??:/gm)].map(([, name = '']) => name);
  const picked = [...`${head} ${alias}`.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
  const whole = head.replace(/Pick<[^>]*>/g, '').match(/\b(?!extends\b)[A-Z]\w+/g) ?? [];
  return [...own, ...picked, ...whole.flatMap((one) => optionsOf(report, one))];
}

/** Each class of the report with its methods and their options. */
function classesOf(report: string): Map<string, Reported> {
  const classes = new Map<string, Reported>();
  const found = report.matchAll(/^export class (\w+)(?: extends (\w+))?[^{]*\{$(.*?)^\}$/gms);
  for (const [, name = '', above, body = ''] of found) {
    if (!CLASSES.includes(name)) continue;
    const members = new Map<string, readonly string[]>();
    for (const [, getter, method = '', terms = ''] of body.matchAll(/^ {4}(get )?(\w+)(.*)$/gm)) {
      if (method === 'constructor' || method === 'readonly') continue;
      const [, type] = /options\??: (\w+)/.exec(terms) ?? [];
      const isCall = getter === undefined && type !== undefined;
      members.set(method, isCall ? optionsOf(report, type) : []);
    }
    classes.set(name, { above, members });
  }
  return classes;
}

/** What is in the report and not among the calls: `Class.method`, or `Class.method(option)`. */
export function notDrawn(report: string, calls: readonly string[]): string[] {
  const classes = classesOf(report);
  const drawn = new Set(calls);
  const isBelow = (name: string | undefined, above: string): boolean =>
    name !== undefined && (name === above || isBelow(classes.get(name)?.above, above));
  const missing: string[] = [];
  for (const [name, { members }] of classes) {
    // an object of a class below has the method too
    const all = [...classes.keys()].filter((one) => isBelow(one, name));
    const isDrawn = (rest: string): boolean => all.some((one) => drawn.has(`${one}.${rest}`));
    for (const [member, options] of members) {
      if (!isDrawn(member)) {
        missing.push(`${name}.${member}`);
        continue;
      }
      const calledWith = options.map((option) => `${member}(${option})`);
      missing.push(...calledWith.filter((one) => !isDrawn(one)).map((one) => `${name}.${one}`));
    }
  }
  return missing;
}

/** What the simulator does not draw, and why. Each entry names something. */
export const EXCEPTIONS: readonly (readonly [RegExp, string])[] = [
  [
    /^Holdfast\.(doctor|health|ready)$/,
    'they ask a real server for its settings; the server tests hold them',
  ],
  [
    /^Holdfast\.(allOf|mutex|rwLock|semaphore|singleFlight|schedule|election)\(/,
    'an option of a lock is a default for its acquisitions, which draw it',
  ],
  [/\(longHold\)$/, 'it only causes a warning'],
  [
    /^(AllOf|RwSide|Semaphore)\.\w+\((expiringBefore|onExpiring|maxHold|sharedBy)\)$/,
    'drawn for a mutex; these locks give it to the same code',
  ],
  [
    /^\w+\.(ensure|extend|release|inspect|whenFree|whenPermits|runOnce|do)\((signal|wait)\)$/,
    'they end the wait of the caller alone; acquisitions draw the same code',
  ],
  [/^Holdfast\.(list|latch)\(/, 'they change what is shown, or how long a record stays'],
  [
    /^(Barrier|Latch)\.(reset|delete)$/,
    'the checks of gates count arrivals of one generation; the gate differential draws them',
  ],
  [/^Condition\.awaitUntil$/, 'a loop around `await`, which is drawn'],
  [
    /^Election\.(lead\((onFailure|pause)\)|observe)$/,
    '`observe` reads as `leader` does; the options concern failures of the own work',
  ],
  [
    /^OwnerLocks\.(renew|tryLock|lock\(fair\))$/,
    '`lock` draws the same requests; the differential draws a renewal of all holds',
  ],
  [/^MultiLease\.(ensure|extend|verify)$/, 'they call the method of each lease, which is drawn'],
  [/^SemaphoreLease\.releasePermits$/, 'the differential draws a smaller weight; `downgrade` too'],
  [/^ScheduledRun\.verify$/, '`Lease.verify` of its lease, which is drawn'],
  [/^SingleFlight\.run$/, 'a loop around `do`, which is drawn'],
];
