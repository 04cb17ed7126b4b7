/** The metrics. Durations are in seconds. */
import type { Meter } from '@opentelemetry/api';
import type {
  AcquireMessage,
  ForcedMessage,
  HandOffMessage,
  LostMessage,
  ReleaseMessage,
  RenewMessage,
  WarningMessage,
} from 'holdfast';
import { Kept, listen } from './channels.js';
import { observe } from './gauges.js';
import type { Instrumented } from './instrument.js';
import type { LockName } from './lock-name.js';
import { outcomeOf } from './outcome.js';

const BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];
const SECONDS = { unit: 's', advice: { explicitBucketBoundaries: BOUNDS } };
/** The reasons of a loss that are told apart; others name hosts and processes. */
const REASONS = ['expired', 'gone', 'forced', 'max-hold', 'closed', 'parked', 'unlocked'];

interface Instruments {
  readonly [name: string]: (message: never) => void;
}

/** Subscribes. Returns a function that ends the subscriptions. */
export function measure(holdfast: Instrumented, meter: Meter, nameOf: LockName): () => void {
  const stop = listen(holdfast.id, {
    ...acquisitions(meter, nameOf),
    ...holds(meter, nameOf),
    ...renewals(meter, nameOf),
    ...events(meter, nameOf),
  });
  const unobserve = observe(holdfast, meter, nameOf);
  return () => {
    stop();
    unobserve();
  };
}

function acquisitions(meter: Meter, nameOf: LockName): Instruments {
  const duration = meter.createHistogram('holdfast.acquire.duration', {
    ...SECONDS,
    description: 'From the call that asks for a lock until it has the lock, or not',
  });
  const started = new Kept<number>();
  return {
    'tracing:holdfast:acquire:start': (message: AcquireMessage) => {
      started.set(message, performance.now());
    },
    'tracing:holdfast:acquire:asyncEnd': (message: AcquireMessage) => {
      const start = started.get(message);
      if (start === undefined) return;
      duration.record((performance.now() - start) / 1000, {
        'lock.name': nameOf(message.key),
        'holdfast.outcome': outcomeOf(message),
        'holdfast.queued': message.queued,
      });
    },
  };
}

function holds(meter: Meter, nameOf: LockName): Instruments {
  const duration = meter.createHistogram('holdfast.hold.duration', {
    ...SECONDS,
    description: 'From the grant of a lease until its release or its loss',
  });
  const lost = meter.createCounter('holdfast.lost', {
    unit: '{lease}',
    description: 'Leases that ended before their holder released them',
  });
  const record = (key: string, held: number | undefined, outcome: string): void => {
    if (held === undefined) return;
    duration.record(held / 1000, { 'lock.name': nameOf(key), 'holdfast.outcome': outcome });
  };
  return {
    'tracing:holdfast:release:asyncEnd': ({ key, held, outcome }: ReleaseMessage) => {
      // a lost lease was recorded when it was lost; a release without an answer may be repeated
      if (outcome !== undefined && outcome !== 'lost') record(key, held, 'released');
    },
    'holdfast:lost': ({ key, held, reason }: LostMessage) => {
      record(key, held, 'lost');
      const why = REASONS.find((one) => reason === one) ?? byText(reason);
      lost.add(1, { 'lock.name': nameOf(key), 'holdfast.reason': why });
    },
  };
}

const byText = (reason: string): string => (reason.includes('by force') ? 'forced' : 'other');

function renewals(meter: Meter, nameOf: LockName): Instruments {
  const delay = meter.createHistogram('holdfast.renewal.delay', {
    ...SECONDS,
    description: 'By how much a renewal was sent later than planned',
  });
  const failed = meter.createCounter('holdfast.renewal.failed', {
    unit: '{lease}',
    description: 'Renewals of leases that did not extend them; they are repeated',
  });
  return {
    'tracing:holdfast:renew:start': (message: RenewMessage) => delay.record(message.delay / 1000),
    'tracing:holdfast:renew:asyncEnd': ({ keys, renewed = 0 }: RenewMessage) => {
      if (renewed === keys.length) return;
      // a command for several leases does not say which of them
      const one = keys.length === 1 ? nameOf(keys[0] as string) : '{several}';
      failed.add(keys.length - renewed, { 'lock.name': one });
    },
  };
}

function events(meter: Meter, nameOf: LockName): Instruments {
  const handOffs = meter.createCounter('holdfast.handoffs', {
    unit: '{lease}',
    description: 'Leases that came from another holder, after a wait',
  });
  const forced = meter.createCounter('holdfast.forced', {
    unit: '{lease}',
    description: 'Leases that this process ended by force',
  });
  const warnings = meter.createCounter('holdfast.warnings', {
    unit: '{warning}',
    description: 'Warnings',
  });
  return {
    'holdfast:handoff': ({ key, how }: HandOffMessage) =>
      handOffs.add(1, { 'lock.name': nameOf(key), 'holdfast.how': how }),
    'tracing:holdfast:forced:asyncEnd': ({ key, ended = 0 }: ForcedMessage) =>
      forced.add(ended, { 'lock.name': nameOf(key) }),
    'holdfast:warning': ({ code }: WarningMessage) => warnings.add(1, { 'holdfast.code': code }),
  };
}
