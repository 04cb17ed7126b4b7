/** Cases for conditions, slots, latches and barriers. */
import type { Case } from './cases.js';

/** A task gives its lease to another one of its process, which waits in the store too. */
const HANDED_ON = `0 p1 ask a\n0 p1 ask b\n1 p1 grant a 1\n2 p1 release a\n2 p1 released a freed
  2 p1 grant b 2 id=id-a/1\n3 p1 release b\n4 p1 released b freed`;

export const WAITS_GOOD: readonly Case[] = [
  {
    name: 'a signal that woke the only wait',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed
      9 p1 released a freed\n9 p1 woken a true`,
    finds: [],
  },
  {
    name: 'a signal to a process that died',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed\n9 p1 crash`,
    finds: [],
  },
  {
    name: 'a wait at a condition that the store shows, and that its process left when it died',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 - seen waiter:x\n9 p1 crash
      90000 - seen waiter:x`,
    finds: [],
  },
  {
    name: 'the same, in a history without events of conditions',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 release a\n9 p1 crash\n90000 - seen waiter:x`,
    finds: [],
  },
  {
    name: 'a waiter of a dead process in the last `seen`',
    lines: `0 p1 ask a\n9 p1 crash\n90000 - seen waiter:x last`,
    finds: [],
  },
  {
    name: 'a waiter in the last `seen` that left before a loss of memory',
    lines: `0 p1 ask a wait=5\n5 p1 fail a HOLDFAST_TIMEOUT\n9 - amnesia
      90000 - seen waiter:x last`,
    finds: [],
  },
  {
    name: 'the place of a task that its own process gave the lease, after a loss of memory',
    lines: `${HANDED_ON}\n9 - amnesia\n10 - seen waiter:x`,
    finds: [],
  },
  {
    name: 'a signal to an ended wait that a store knows after it lost its last writes',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 released a freed
      3 p1 woken a false\n4 - amnesia\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 release b\n10 p2 released b freed`,
    finds: ['signal (excused)'],
  },
  {
    name: 'a signal to a failed wait that the store still knows',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 woken a
      3 p1 released a HOLDFAST_UNREACHABLE\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 release b\n10 p2 released b freed`,
    finds: [],
  },
  {
    name: 'a second run of a slot after its retention',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      2000 p1 ask b\n2001 p1 grant b 2\n2002 p1 run b s\n2003 p1 release b
      2004 p1 released b freed`,
    finds: [],
  },
  {
    name: 'a second run of a slot after a loss of memory',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      5 - amnesia\n6 p1 ask b\n7 p1 grant b 2\n8 p1 run b s\n9 p1 release b
      10 p1 released b freed`,
    finds: ['slot (excused)'],
  },
  {
    name: 'a latch that opens and is passed',
    lines: `0 p1 await w latch\n1 p2 count c\n2 p3 count d\n3 p2 counted c 1\n4 p1 passed w
      5 p3 counted d 0`,
    finds: [],
  },
  {
    name: 'a latch with counts that the store lost',
    lines: `0 p2 count c\n1 p2 counted c 1\n2 - amnesia\n3 p3 count d\n4 p3 counted d 1`,
    finds: [],
  },
  {
    name: 'a latch with counts that the store lost during a count',
    lines: `0 p2 count c\n1 p2 counted c 1\n2 p3 count d\n3 - amnesia\n4 p3 counted d 1`,
    finds: ['latch (excused)'],
  },
  {
    name: 'a wait that times out at a latch that was open before the store lost its memory',
    lines: `1 p2 count c 2\n2 p2 counted c 0\n3 - amnesia\n4 p1 await w latch
      5 p1 stopped w HOLDFAST_TIMEOUT`,
    finds: [],
  },
  {
    name: 'two generations of a barrier',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      3 p2 await d barrier\n4 p1 passed a generation=1 index=0\n5 p1 await c barrier
      6 p1 passed c generation=2 index=1\n7 p2 passed d generation=2 index=0`,
    finds: [],
  },
  {
    name: 'a barrier with a party that died',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 crash
      3 p1 passed a generation=1 index=0`,
    finds: [],
  },
];

export const WAITS_BAD: readonly Case[] = [
  {
    name: 'more waiters in the last `seen` than the dead process had',
    lines: `0 p1 ask a\n9 p1 crash\n90000 - seen waiter:x waiter:y last`,
    finds: ['ghost'],
  },
  {
    name: 'the place of a task that its own process gave the lease',
    lines: `${HANDED_ON}\n10 - seen waiter:x`,
    finds: ['ghost'],
  },
  {
    name: 'a waiter of a living process in the last `seen`',
    lines: `0 p1 ask a wait=5\n5 p1 fail a HOLDFAST_TIMEOUT\n9 p2 crash\n10 - seen waiter:x last`,
    finds: ['ghost'],
  },
  {
    name: 'an ended wait at a condition that the store still shows',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 released a freed
      3 p1 woken a false\n90000 - seen waiter:x`,
    finds: ['ghost'],
  },
  {
    name: 'a signal that woke no wait',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed
      9 p1 released a freed\n9 p1 woken a false`,
    finds: ['signal'],
  },
  {
    name: 'two signals to one failed wait',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 woken a
      3 p1 released a HOLDFAST_UNREACHABLE\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 signal b\n10 p2 signalled b 1\n11 p2 release b
      12 p2 released b freed`,
    finds: ['signal'],
  },
  {
    name: 'two runs of a slot',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      6 p1 ask b\n7 p1 grant b 2\n8 p1 run b s\n9 p1 release b\n10 p1 released b freed`,
    finds: ['slot'],
  },
  {
    name: 'a latch that is passed too early',
    lines: `0 p1 await w latch\n1 p2 count c\n3 p2 counted c 1\n4 p1 passed w`,
    finds: ['latch'],
  },
  {
    name: 'a latch that counts one twice',
    lines: `1 p2 count c\n3 p2 counted c 0`,
    finds: ['latch'],
  },
  {
    name: 'a latch that does not count one',
    lines: `1 p2 count c\n3 p2 counted c 2`,
    finds: ['latch'],
  },
  {
    name: 'a wait that times out at an open latch',
    lines: `1 p2 count c 2\n3 p2 counted c 0\n4 p1 await w latch\n5 p1 stopped w HOLDFAST_TIMEOUT`,
    finds: ['latch'],
  },
  {
    name: 'a wait at a latch that is open at the end',
    lines: `0 p1 await w latch`,
    finds: ['latch'],
  },
  {
    name: 'a party that passes alone',
    lines: `0 p1 await a barrier\n4 p1 passed a generation=1 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'two parties of a generation with one index',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      4 p1 passed a generation=1 index=1`,
    finds: ['barrier'],
  },
  {
    name: 'a third party in a generation of two',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n1 p3 await c barrier
      2 p2 passed b generation=1 index=1\n4 p1 passed a generation=1 index=0
      5 p3 passed c generation=1 index=2`,
    finds: ['barrier'],
  },
  {
    name: 'a party that arrives after others have passed',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      3 p3 await c barrier\n4 p1 stopped a HOLDFAST_BROKEN\n5 p3 passed c generation=1 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'a smaller generation after a greater one',
    lines: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=7 index=1
      3 p1 passed a generation=7 index=0\n4 p1 await c barrier\n5 p2 await d barrier
      6 p2 passed d generation=6 index=1\n7 p1 passed c generation=6 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'a wait at a barrier that is open at the end',
    lines: `0 p1 await a barrier`,
    finds: ['barrier'],
  },
];
