/** Cases for weights, capacities, owners, excuses by fence, and refused writes. */
import type { Case } from './cases.js';

/** A lease that is asked for, held and released, from time `t` on. */
const turn = (p: string, a: string, t: number, fence: number, more = ''): string => `
  ${t} ${p} ask ${a} ${more}
  ${t + 1} ${p} grant ${a} ${fence}
  ${t + 5} ${p} hold ${a}
  ${t + 6} ${p} release ${a}
  ${t + 7} ${p} released ${a} freed`;

const RW = 'cap=9';
/** A lease of `o`, one of `q`, and at `t` an acquisition of `o` that has the fence of the first. */
const back = (t: number): string => `${turn('p1', 'a', -9, 10, 'owner=o')}
  4 p2 ask b owner=q\n5 p2 grant b 20\n${t + 1} p1 ask c owner=o\n${t + 2} p1 grant c 10
  ${t + 3} p2 hold b\n${t + 4} p2 lost b\n${t + 4} p1 release c\n${t + 5} p1 released c freed`;

/** Two overlapping leases of a mutex, the first with fence 10, the second with fence 20. */
const two = (second = 2): string => `0 p1 ask a\n1 p1 grant a 10\n${second} p2 ask b
  ${second + 1} p2 grant b 20\n${second + 2} p1 hold a\n${second + 3} p1 lost a
  ${second + 4} p2 release b\n${second + 5} p2 released b freed\n`;

export const FAMILY_GOOD: readonly Case[] = [
  {
    name: 'a writer that becomes a reader, and a second reader',
    lines: `0 p1 ask a ${RW} weight=9\n1 p1 grant a 1\n2 p2 ask b ${RW}\n3 p1 weight a 1 1
      4 p2 grant b 2\n5 p1 hold a\n6 p1 release a\n7 p1 released a freed\n8 p2 release b
      9 p2 released b freed`,
    finds: [],
  },
  {
    name: 'a writer in doubt that becomes a reader, and a second reader',
    lines: `0 p1 ask a ${RW} weight=9\n1 p1 grant a 1\n2 p2 ask b ${RW}
      3 p1 weight a 1 1 held=false\n4 p2 grant b 2\n5 p1 hold a\n6 p1 release a
      7 p1 released a freed\n8 p2 release b\n9 p2 released b freed`,
    finds: [],
  },
  {
    name: 'a lost writer that becomes a reader, and the next writer',
    lines: `0 p1 ask a ${RW} weight=9\n1 p1 grant a 1\n2 p1 hold a
      3 p2 ask b ${RW} weight=9\n4 p2 grant b 2\n5 p1 weight a 1 1 held=false\n6 p1 lost a
      7 p2 release b\n8 p2 released b freed`,
    finds: [],
  },
  {
    name: 'the only reader, which becomes a writer',
    lines: `${turn('p2', 'b', 0, 1, RW)}\n10 p1 ask a ${RW}\n11 p1 grant a 2\n12 p1 weight a 9 3
      13 p1 use a 3\n14 p1 release a\n15 p1 released a freed${turn('p2', 'c', 20, 4, RW)}`,
    finds: [],
  },
  {
    name: 'permits above the capacity, granted before it was lowered',
    lines: `0 p1 ask a cap=3 weight=2\n1 p1 grant a 1\n2 p2 ask b cap=3\n3 p2 grant b 2
      4 p3 resize 1\n5 p3 resized 1\n6 p1 hold a\n7 p1 release a\n8 p1 released a freed
      9 p2 release b\n10 p2 released b freed`,
    finds: [],
  },
  {
    name: 'permits that were granted while the capacity was raised',
    lines: `0 p3 resize 3\n1 p3 resized 3\n2 p1 ask a cap=2 weight=2\n3 p1 grant a 1
      4 p2 ask b cap=2\n5 p2 grant b 2\n6 p3 resize 2\n7 p3 resized 2\n8 p1 release a
      9 p1 released a freed\n10 p2 release b\n11 p2 released b freed`,
    finds: [],
  },
  {
    name: 'two holders, the first from before a loss of memory by its fence',
    lines: `${two()}6 - amnesia from=14 to=16`,
    finds: ['exclusion (excused)'],
  },
  {
    name: 'two holders from a time when fences continue after a clock was set back',
    lines: `${turn('p3', 'c', 0, 99)}\n9 - amnesia from=14 to=16\n10 p1 ask a\n11 p1 grant a 100
      12 p2 ask b\n13 p2 grant b 101\n14 p1 hold a\n15 p1 lost a\n16 p2 release b
      17 p2 released b freed`,
    finds: ['exclusion (excused)'],
  },
  {
    name: 'a lease that returns from a condition to a stalled process',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a${turn('p2', 'b', 3, 3)}
      11 p1 released a freed\n11 p1 woken a true\n12 p1 ask c back\n13 p1 grant c 2 held=false
      14 p1 lost c`,
    finds: [],
  },
  {
    name: 'an owner that joins its lease after the store lost the release',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 10\n2 p1 release a\n3 p1 released a freed
      ${turn('p2', 'b', 4, 20, 'owner=q')}\n12 - amnesia from=25 to=26\n13 p1 ask c owner=o
      14 p1 grant c 10\n15 p1 release c\n16 p1 released c freed`,
    finds: ['fence (excused)'],
  },
  {
    name: 'the same, in a history that does not say which fences were lost',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 10\n2 p1 release a\n3 p1 released a freed
      ${turn('p2', 'b', 4, 20, 'owner=q')}\n12 - amnesia\n13 p1 ask c owner=o
      14 p1 grant c 10\n15 p1 release c\n16 p1 released c freed`,
    finds: ['fence (excused)'],
  },
  {
    name: 'an owner that joins its lease, which the store has back, beside a lease that it lost',
    lines: `${back(6)}\n6 - amnesia from=25 to=26`,
    finds: ['exclusion (excused)', 'fence (excused)'],
  },
  {
    name: 'a refused write of a lease of all permits, after their number was raised',
    lines: `0 p1 ask a cap=3 weight=3\n1 p2 resize 6\n2 p2 resized 6\n3 p1 grant a 1
      5 p1 use a 1 accepted=false\n6 p1 hold a\n7 p1 release a\n8 p1 released a freed`,
    finds: [],
  },
  {
    name: 'a refused write of a lease that a forced release ended',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p3 force\n4 p3 forced\n5 p1 use a 1 accepted=false
      6 p1 hold a\n7 p1 lost a`,
    finds: ['use (excused)'],
  },
  {
    name: 'a refused write of a lease that had ended',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 hold a\n5 p1 use a 1 accepted=false\n6 p1 lost a`,
    finds: [],
  },
  {
    name: 'a refused write of a reader',
    lines: `0 p1 ask a ${RW}\n1 p1 grant a 1\n2 p1 use a 1 accepted=false\n3 p1 hold a
      4 p1 release a\n5 p1 released a freed`,
    finds: [],
  },
];

export const FAMILY_BAD: readonly Case[] = [
  {
    name: 'a reader next to a reader that became a writer',
    lines: `0 p1 ask a ${RW}\n1 p1 grant a 1\n2 p2 ask b ${RW}\n3 p2 grant b 2\n4 p1 weight a 9 3
      5 p2 hold b\n6 p2 release b\n7 p2 released b freed\n8 p1 release a\n9 p1 released a freed`,
    finds: ['exclusion'],
  },
  {
    name: 'a reader next to a writer whose lease was in doubt',
    lines: `0 p1 ask a ${RW} weight=9\n1 p1 grant a 1\n2 p2 ask b ${RW}\n4 p2 grant b 2
      5 p1 hold a\n6 p1 release a\n7 p1 released a freed\n8 p2 release b\n9 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'a writer next to a writer in doubt that became a reader',
    lines: `0 p1 ask a ${RW} weight=9\n1 p1 grant a 1\n2 p1 weight a 1 1 held=false
      3 p2 ask b ${RW} weight=9\n4 p2 grant b 2\n5 p1 hold a\n6 p2 release b\n7 p2 released b freed
      8 p1 release a\n9 p1 released a freed`,
    finds: ['exclusion'],
  },
  {
    name: 'a new reader next to a reader that became a writer',
    lines: `0 p1 ask a ${RW}\n1 p1 grant a 1\n2 p1 weight a 9 2\n3 p2 ask b ${RW}\n4 p2 grant b 3
      5 p1 hold a\n6 p2 release b\n7 p2 released b freed\n8 p1 release a\n9 p1 released a freed`,
    finds: ['exclusion'],
  },
  {
    name: 'three permits held of two, after the capacity was lowered',
    lines: `0 p3 resize 2\n1 p3 resized 2\n2 p1 ask a cap=2 weight=2\n3 p1 grant a 1
      4 p2 ask b cap=2\n5 p2 grant b 2\n8 p1 release a\n9 p1 released a freed\n10 p2 release b
      11 p2 released b freed\n-1 p3 resize 3\n-1 p3 resized 3`,
    finds: ['exclusion'],
  },
  {
    name: 'an owner whose second hold has another fence',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 1\n2 p2 ask b owner=o\n3 p2 grant b 2
      4 p1 release a\n5 p1 released a kept\n6 p2 release b\n7 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'a lease that returns from a condition with the fence of another',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 park a\n2 p1 release a${turn('p2', 'b', 3, 3)}
      11 p1 released a freed\n11 p1 woken a true\n12 p1 ask c back\n13 p1 grant c 3 held=false
      14 p1 lost c\n0 p3 ask d\n20 p3 fail d HOLDFAST_ABORTED`,
    finds: ['fence'],
  },
  {
    name: 'an owner that gets an old fence after the release of its lease',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 10\n2 p1 release a\n3 p1 released a freed
      ${turn('p2', 'b', 4, 20, 'owner=q')}\n13 p1 ask c owner=o
      14 p1 grant c 10\n15 p1 release c\n16 p1 released c freed`,
    finds: ['fence'],
  },
  {
    name: 'an owner that joins an earlier lease before the store lost its memory',
    lines: `${back(6)}\n12 - amnesia from=25 to=26`,
    finds: ['exclusion', 'fence'],
  },
  {
    name: 'a refused write of a lease of all permits, after their number was raised and lowered',
    lines: `0 p2 resize 6\n1 p2 resized 6\n2 p2 resize 3\n3 p2 resized 3\n4 p1 ask a cap=3 weight=3
      5 p1 grant a 1\n6 p1 use a 1 accepted=false\n7 p1 hold a\n8 p1 release a
      9 p1 released a freed`,
    finds: ['use'],
  },
  {
    name: 'two holders, both from before a loss of memory by their fences',
    lines: `${two()}6 - amnesia from=30 to=31`,
    finds: ['exclusion'],
  },
  {
    name: 'two holders, both from after a loss of memory by their fences, asked for before it',
    lines: `${two()}0.5 - amnesia from=5 to=6`,
    finds: ['exclusion'],
  },
  {
    name: 'two holders, longer after a loss of memory than a lease can last',
    lines: `-1 - begin ttl=100\n${two(300)}1 - amnesia from=14 to=16`,
    finds: ['exclusion'],
  },
  {
    name: 'two holders, after a loss of the memory of another key',
    lines: `${two()}1 - amnesia k=other`,
    finds: ['exclusion'],
  },
  {
    name: 'a refused write of a lease that is held afterwards',
    lines: `0 p1 ask a\n1 p1 grant a 1\n5 p1 use a 1 accepted=false\n6 p1 hold a\n7 p1 lost a`,
    finds: ['use'],
  },
  {
    name: 'a holder in the last `seen`, even of a dead process',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 crash\n3 - seen holder:a:1 last`,
    finds: ['ghost'],
  },
];
