/** The simulated server reads the calls of the Redis store as the scripts do. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Engine } from '../../../packages/holdfast/src/engine/engine.js';
import type {
  Acquire,
  KeyCommand,
  Release,
  RenewMany,
} from '../../../packages/holdfast/src/engine/commands.js';
import { answerTo, encode } from '../../../packages/holdfast/src/store/redis/codec.js';
import { keysOf, mainKeyOf } from '../../../packages/holdfast/src/store/redis/keys.js';
import { argsOf } from '../../../packages/holdfast/src/store/redis/many-renewals.js';
import { argsOfMany } from '../../../packages/holdfast/src/store/redis/several.js';
import { asking } from '../../../packages/holdfast/test/support/crowds.js';
import { commandOf, traffic } from '../../../packages/holdfast/test/support/traffic.js';
import { commandsOf, resultOf, type ScriptName } from '../src/net/script-calls.js';

const call = (script: ScriptName, keys: string[], args: string[]): unknown =>
  commandsOf(script, { sha: '', keys, args });

/** Without the fields that are left out for their default. */
function full(command: KeyCommand): KeyCommand {
  const usual: Record<string, object> = {
    acquire: { waited: 0, tasks: 0 },
    release: { unpassed: false },
    turn: { fair: false },
    park: { used: 0 },
    renew: { channel: '' },
    poll: { period: 0 },
  };
  return { ...usual[command.op], ...command };
}

it('commands and replies are those of the Redis store', () => {
  fc.assert(
    fc.property(traffic, (steps) => {
      const engine = new Engine(() => 1);
      let now = 1_000_000_000;
      for (const step of steps) {
        now += 1000;
        const command = commandOf(step, engine.resource(step.command.key), new Map());
        const keys = keysOf('p:', command.key);
        expect(call(command.op, keys, encode(command))).toEqual([full(command)]);
        const { reply } = engine.apply(command, now);
        expect(answerTo(command, resultOf(command.op, reply))).toEqual(reply);
      }
    }),
    { numRuns: 60 },
  );
});

it('calls of several commands too', () => {
  const names = ['a', 'b'].map((key) => mainKeyOf('p:', key));
  const more: Partial<Acquire>[] = [{}, { token: 't', channel: 'c', waited: 7 }, { fair: true }];
  for (const own of more) {
    const asked = ['a', 'b'].map((key) => asking(`of ${key}`, { capacity: 1, key, ...own }));
    const expected = asked.map(full);
    expect(call('acquireMany', names, argsOfMany(asked))).toEqual(expected);
  }
  const ended = ['a', 'b'].map((key): Release => {
    return { op: 'release', key, id: `of ${key}`, unpassed: true, retention: 9 };
  });
  expect(call('releaseMany', names, argsOfMany(ended))).toEqual(ended);
  const [keys, ids] = [
    ['a', 'b'],
    ['i', 'j'],
  ];
  const renewal: RenewMany = { op: 'renewMany', keys, ids, ttl: 5, retention: 9 };
  expect(call('renewMany', names, argsOf(renewal))).toEqual([renewal]);
  const all = ['a', 'b'].flatMap((key) => keysOf('p:', key));
  expect(call('renewMany', all, argsOf(renewal))).toEqual([renewal]);
});
