/** Mistakes of the register store. The simulated register finds them. */
import type { Edit, Mutant } from '../mutant.js';

const proposals = (find: string, replace: string): Edit => ({
  file: 'store/register/proposals.js',
  find,
  replace,
});

export const REGISTER: readonly Mutant[] = [
  {
    name: 'a swap is sent again',
    mistake: 'a swap without an answer is repeated, without a look at the state',
    edits: [
      proposals(
        'const swapping = turns.swap(this.#name, current.version, {',
        'const send = (change) => turns.swap(this.#name, current.version, change);\n' +
          '        const swapping = ((change) => send(change).catch(() => send(change)))({',
      ),
    ],
    world: 'register',
  },
  {
    name: 'a kept state answers',
    mistake: 'a command that changes nothing is answered from the state of the last swap',
    edits: [proposals('isRead && kept === undefined', 'unchanged')],
    world: 'register',
    rare: true,
    seed: 138,
  },
  {
    name: 'no answer is a refusal',
    mistake: 'a swap without an answer counts as refused, so it is neither repeated nor withdrawn',
    edits: [
      {
        file: 'store/register/pending.js',
        find: "isRegisterError(error) ? error.kind : 'unanswered'",
        replace: "'refused'",
      },
    ],
    world: 'register',
    rare: true,
  },
  {
    name: 'a call without end',
    mistake: 'a call of a register that never settles blocks its key',
    edits: [
      { file: 'store/register/register-store.js', find: 'timeout === undefined', replace: 'true' },
    ],
    world: 'register',
    seed: 307,
  },
  {
    name: 'a late answer is a refusal',
    mistake: 'a call of a register that reached its time limit counts as refused',
    edits: [
      {
        file: 'store/register/call-limit.js',
        find: "RegisterError('unanswered'",
        replace: "RegisterError('refused'",
      },
    ],
    world: 'register',
    rare: true,
    seed: 145,
  },
  {
    name: 'a lost race is won',
    mistake: 'a swap of an old version is answered as if it had taken effect',
    edits: [
      proposals(
        'if (swapped === false)',
        'if (swapped === false) {\n            answerAll(batch, applied, current.latest);\n' +
          '            return true;\n        }\n        if (false)',
      ),
    ],
    world: 'register',
  },
  {
    name: 'pushes of a lost race',
    mistake: 'the pushes of a swap that lost its race are sent with the next one',
    edits: [
      proposals(
        'messagesOf(pushes, late)',
        'messagesOf((this.sent = [...(this.sent ?? []), ...pushes]), late)',
      ),
    ],
    world: 'register',
    seed: 20,
  },
  {
    name: 'fences start anew',
    mistake: 'the fences of a key that was forgotten begin with 1 again',
    edits: [
      {
        file: 'engine/resource.js',
        find: 'const fence = Math.max(this.fence + 1, now);',
        replace: 'const fence = this.fence + 1;',
      },
    ],
    world: 'register',
    seed: 584,
  },
  {
    name: 'time of the process',
    mistake: 'leases end by the clock of the process that changes the key',
    edits: [
      proposals(
        '...boundsOf(current, clock.now())',
        '...boundsOf(current, clock.now()), time: Math.floor(clock.wall() * 1000)',
      ),
    ],
    world: 'register',
    seed: 487,
  },
  {
    name: 'the clock is as early as it may be',
    mistake: 'a lease counts from the lower bound of the clock of its register',
    edits: [
      proposals(
        'time: storeTime, latest = storeTime, deaf = [] } = swapped;',
        'time: storeTime, deaf = [] } = swapped;\n        const latest = storeTime;',
      ),
    ],
    world: 'register',
    seed: 24,
  },
  {
    name: 'a grant that is not marked',
    mistake: 'a register is not told which changes grant, so it holds none of them back',
    edits: [proposals('hasGrant(current.fences, fences)', 'false')],
    world: 'register',
    seed: 584,
  },
  {
    name: 'forgotten at once',
    mistake: 'the state of a key may be forgotten while a lease lasts',
    edits: [proposals('forgetAt: forgetAt(this.#key, engine)', 'forgetAt: time')],
    world: 'register',
  },
];
