/** Stories of conditions, slots, latches and barriers: what must be found, and what must not. */
import type { Case } from './stories.js';

export const WAITS_GOOD: readonly Case[] = [
  {
    name: 'a signal that woke the one that waited',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed
      9 p1 released a freed\n9 p1 woken a true`,
    finds: [],
  },
  {
    name: 'a signal that went to a process that died',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed\n9 p1 crash`,
    finds: [],
  },
  {
    name: 'a signal for a wait that the store knows again after it lost its last writes',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 released a freed
      3 p1 woken a false\n4 - amnesia\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 release b\n10 p2 released b freed`,
    finds: ['signal (excused)'],
  },
  {
    name: 'a signal for a wait that failed, and that the store still knows',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 woken a
      3 p1 released a HOLDFAST_UNREACHABLE\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 release b\n10 p2 released b freed`,
    finds: [],
  },
  {
    name: 'a slot that runs again when it is forgotten',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      2000 p1 ask b\n2001 p1 grant b 2\n2002 p1 run b s\n2003 p1 release b
      2004 p1 released b freed`,
    finds: [],
  },
  {
    name: 'a slot that runs again after the store forgot',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      5 - amnesia\n6 p1 ask b\n7 p1 grant b 2\n8 p1 run b s\n9 p1 release b
      10 p1 released b freed`,
    finds: ['slot (excused)'],
  },
  {
    name: 'a latch that is counted down',
    story: `0 p1 await w latch\n1 p2 count c\n2 p3 count d\n3 p2 counted c 1\n4 p1 passed w
      5 p3 counted d 0`,
    finds: [],
  },
  {
    name: 'a latch whose counts were forgotten',
    story: `0 p2 count c\n1 p2 counted c 1\n2 - amnesia\n3 p3 count d\n4 p3 counted d 1`,
    finds: ['latch (excused)'],
  },
  {
    name: 'a barrier, twice',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      3 p2 await d barrier\n4 p1 passed a generation=1 index=0\n5 p1 await c barrier
      6 p1 passed c generation=2 index=1\n7 p2 passed d generation=2 index=0`,
    finds: [],
  },
  {
    name: 'a barrier whose other party died',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 crash
      3 p1 passed a generation=1 index=0`,
    finds: [],
  },
];

export const WAITS_BAD: readonly Case[] = [
  {
    name: 'a signal that woke no wait',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p2 ask b\n4 p2 grant b 2
      5 p2 signal b\n6 p2 signalled b 1\n7 p2 release b\n8 p2 released b freed
      9 p1 released a freed\n9 p1 woken a false`,
    finds: ['signal'],
  },
  {
    name: 'two signals for one wait that failed',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a\n3 p1 woken a
      3 p1 released a HOLDFAST_UNREACHABLE\n5 p2 ask b\n6 p2 grant b 2\n7 p2 signal b
      8 p2 signalled b 1\n9 p2 signal b\n10 p2 signalled b 1\n11 p2 release b
      12 p2 released b freed`,
    finds: ['signal'],
  },
  {
    name: 'a slot with two runs',
    story: `0 p1 ask a\n1 p1 grant a 1\n2 p1 run a s\n3 p1 release a\n4 p1 released a freed
      6 p1 ask b\n7 p1 grant b 2\n8 p1 run b s\n9 p1 release b\n10 p1 released b freed`,
    finds: ['slot'],
  },
  {
    name: 'a latch that is passed early',
    story: `0 p1 await w latch\n1 p2 count c\n3 p2 counted c 1\n4 p1 passed w`,
    finds: ['latch'],
  },
  {
    name: 'a latch that counts one twice',
    story: `1 p2 count c\n3 p2 counted c 0`,
    finds: ['latch'],
  },
  {
    name: 'a latch that does not count one',
    story: `1 p2 count c\n3 p2 counted c 2`,
    finds: ['latch'],
  },
  {
    name: 'a latch that is open, and not passed',
    story: `1 p2 count c 2\n3 p2 counted c 0\n4 p1 await w latch\n5 p1 stopped w HOLDFAST_TIMEOUT`,
    finds: ['latch'],
  },
  {
    name: 'a latch at which one waits at the end',
    story: `0 p1 await w latch`,
    finds: ['latch'],
  },
  {
    name: 'a party that passes alone',
    story: `0 p1 await a barrier\n4 p1 passed a generation=1 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'two of a generation with one index',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      4 p1 passed a generation=1 index=1`,
    finds: ['barrier'],
  },
  {
    name: 'a third of two',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n1 p3 await c barrier
      2 p2 passed b generation=1 index=1\n4 p1 passed a generation=1 index=0
      5 p3 passed c generation=1 index=2`,
    finds: ['barrier'],
  },
  {
    name: 'a party that comes when the others have passed',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=1 index=1
      3 p3 await c barrier\n4 p1 stopped a HOLDFAST_BROKEN\n5 p3 passed c generation=1 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'a generation that goes back',
    story: `0 p1 await a barrier\n1 p2 await b barrier\n2 p2 passed b generation=7 index=1
      3 p1 passed a generation=7 index=0\n4 p1 await c barrier\n5 p2 await d barrier
      6 p2 passed d generation=6 index=1\n7 p1 passed c generation=6 index=0`,
    finds: ['barrier'],
  },
  {
    name: 'a party that waits at the end',
    story: `0 p1 await a barrier`,
    finds: ['barrier'],
  },
];
