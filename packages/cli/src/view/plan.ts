/** The plan of a load as text. */
import { COMFORT, type Limit, type LimitName, type Load, type Plan } from '../plan/plan.js';
import { colors } from './output.js';
import { table } from './table.js';

/** What to do when something is full. */
const ADVICE: Readonly<Record<LimitName, string>> = {
  'server cpu':
    'spread the keys over a cluster (--topology cluster), or hold leases of a longer ttl',
  'server memory': 'give the servers more memory, or use a shorter retention',
  connections: 'use fewer processes, or raise maxclients of the servers',
  network: 'spread the keys over a cluster (--topology cluster)',
  'client cpu': 'spread the locks over more processes',
  'hot key': 'split the key, hold it for a shorter time, or let one call do the work of many',
};

export function planReport(plan: Plan): string {
  const { bold, red, yellow } = colors();
  const { limits, load, masters, servers } = plan;
  const kind = { one: '', replicas: `, ${servers - masters} replica`, quorum: '', cluster: '' };
  const rows = [
    ['servers', `${servers} (${load.topology}${kind[load.topology]})`],
    ['commands', `${number(plan.commands)}/s, ${number(plan.inner)}/s inside scripts`],
    ['renewals, polls', `${number(plan.renewals)}/s, ${number(plan.polls)}/s`],
    ['CPU of the servers', `${percent(plan.serverCpu)} of a core in all`],
    [
      'CPU of the clients',
      `${percent(plan.clientCpu)} of a core in all, ${percent(each(plan))} each`,
    ],
    ['memory of the servers', `${size(plan.serverMemory)} in all`],
    ['memory of a client', size(plan.clientMemory)],
    ['connections', `${number(plan.connections)} in all`],
    ['network', `${size(plan.network)}/s with clients, ${size(plan.between)}/s between servers`],
  ];
  const filled = limits.map(({ name, used, most, share }) => [
    name,
    share > 1 ? red(percent(share)) : share > COMFORT ? yellow(percent(share)) : percent(share),
    `${amount(name, used)} of ${amount(name, most)}`,
  ]);
  const [first] = limits;
  return [
    table(['NEEDS', ''], rows),
    table(['LIMIT', 'FILLED', 'OF ONE'], filled),
    `${bold(`first: ${first.name}`)}, ${verdict(first)}\n  to do: ${advice(first, load)}`,
    ...(plan.computed ? ['beyond what was measured: computed by the same formulas'] : []),
  ].join('\n\n');
}

const each = ({ clientCpu, load }: Plan): number => clientCpu / load.processes;

/** For a hot key that is too hot, with the number of keys that are enough. */
function advice({ name, share }: Limit, { hotKeys }: Load): string {
  if (name !== 'hot key' || share <= 1) return ADVICE[name];
  return `${ADVICE[name]}; ${Math.ceil(hotKeys * share)} such keys are enough`;
}

function verdict({ share }: Limit): string {
  if (share > 1) return `which the load exceeds ${share.toFixed(1)} times: it does not fit`;
  return `full at ${(1 / share).toPrecision(2)} times this load`;
}

function amount(name: LimitName, value: number): string {
  if (name === 'server memory' || name === 'network') return size(value);
  return name === 'connections' ? number(value) : percent(value);
}

function number(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 2 });
}

const percent = (share: number): string => `${number(share * 100)}%`;

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

function size(bytes: number): string {
  let [value, at] = [bytes, 0];
  for (; value >= 1000 && at < UNITS.length - 1; at++) value /= 1000;
  return `${number(value)} ${UNITS[at]}`;
}
