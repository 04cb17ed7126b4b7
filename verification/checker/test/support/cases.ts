/** Bad histories that the checks must find, and similar good ones that they must accept. */

export interface Case {
  readonly name: string;
  readonly lines: string;
  /** The violations in it, see `found`. */
  readonly finds: readonly string[];
}

/** A lease that is asked for, held and released, from time `t` on. */
const turn = (p: string, a: string, t: number, fence: number): string => `
  ${t} ${p} ask ${a}
  ${t + 1} ${p} grant ${a} ${fence}
  ${t + 5} ${p} hold ${a}
  ${t + 6} ${p} release ${a}
  ${t + 7} ${p} released ${a} freed`;

export const GOOD: readonly Case[] = [
  { name: 'one after the other', lines: turn('p1', 'a', 0, 1) + turn('p2', 'b', 10, 2) },
  {
    name: 'a release and the next grant at the same time',
    lines: `0 p1 ask a\n1 p1 grant a 1\n1 p2 ask b\n5 p1 release a\n5 p2 grant b 2
      6 p1 released a freed\n7 p2 release b\n8 p2 released b freed`,
  },
  {
    name: 'a frozen holder that releases after its lease has ended',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 hold a${turn('p2', 'b', 100, 2)}
      200 p1 release a\n201 p1 released a lost`,
  },
  {
    name: 'a holder that died, and the next holder',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 hold a\n3 p1 crash${turn('p2', 'b', 100, 2)}`,
  },
  {
    name: 'a lease that had ended when its grant was noted',
    lines: `0 p1 ask a\n1 p2 ask b\n2 p2 grant b 2\n3 p1 grant a 1 held=false\n4 p1 lost a
      5 p2 release b\n6 p2 released b freed`,
  },
  {
    name: 'a grant of two of three permits, and a grant of one',
    lines: `0 p1 ask a cap=3 weight=2\n1 p1 grant a 1\n2 p2 ask b cap=3\n3 p2 grant b 2
      4 p1 release a\n5 p1 released a freed\n6 p2 release b\n7 p2 released b freed`,
  },
  {
    name: 'grants of a semaphore with replies in another order',
    lines: `0 p1 ask a cap=2\n0 p2 ask b cap=2\n1 p2 grant b 2\n2 p1 grant a 1
      4 p1 release a\n5 p1 released a freed\n6 p2 release b\n7 p2 released b freed`,
  },
  {
    name: 'an owner that acquires twice',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 1\n2 p2 ask b owner=o\n3 p2 grant b 1
      4 p1 release a\n5 p1 released a kept\n6 p2 release b\n7 p2 released b freed`,
  },
  {
    name: 'two holders after the capacity was raised',
    lines: `0 p1 ask a\n1 p1 grant a 1\n1 p2 ask b\n2 p3 resize 2\n3 p2 grant b 2
      4 p1 release a\n5 p1 released a freed\n6 p2 release b\n7 p2 released b freed`,
  },
  {
    name: 'a local hand-off past a waiter, within the bound',
    lines: `0 - begin localHandOffs=1\n0 p1 ask a\n1 p1 grant a 1\n2 p2 ask b\n3 p2 queued b 5
      4 p1 ask c\n5 p1 queued c 6\n6 p1 release a\n6 p1 grant c 2\n7 p1 released a freed
      8 p1 release c\n9 p2 grant b 10\n10 p1 released c freed\n11 p2 release b
      12 p2 released b freed`,
  },
  {
    name: 'a fair waiter that was cut off when its turn came',
    lines: `0 p1 ask a fair\n1 p1 queued a 5\n2 p2 ask b fair\n2 p2 queued b 6\n3 p1 fault cut begin
      4 p2 grant b 1\n5 p2 release b\n6 p2 released b freed\n7 p1 fault cut end\n8 p1 grant a 2
      9 p1 release a\n10 p1 released a freed`,
  },
  {
    name: 'a lease that the store shows while it is held',
    lines: `0 p1 ask a\n1 p1 grant a 4\n2 - seen holder:a:4\n3 p1 release a\n4 p1 released a freed`,
  },
  {
    name: 'a refusal while another attempt asks',
    lines: `0 p1 ask a wait=0\n0 p2 ask b\n1 p1 fail a\n2 p2 grant b 1\n3 p2 release b
      4 p2 released b freed`,
  },
  {
    name: 'a wait that timed out a little late',
    lines: `0 p1 ask a wait=50${turn('p2', 'b', 1, 1)}\n90 p1 fail a HOLDFAST_TIMEOUT`,
  },
  {
    name: 'a write noted 1.8 ms after one with a greater fence, both sent before either reply',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 3, 2)}
      5 p2 use b 2 sent=4.5\n6.8 p1 use a 1 sent=1.5`,
  },
  {
    name: 'a write noted after one with a greater fence that the resource processed later',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 3, 2)}
      5 p2 use b 2 sent=4.5 at=2\n6.8 p1 use a 1 sent=1.5 at=1`,
  },
  {
    name: 'a write noted after one with a greater fence, without `sent`',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 3, 2)}
      5 p2 use b 2\n6.8 p1 use a 1`,
  },
].map((each) => ({ ...each, finds: each.name.startsWith('a fair') ? ['order (excused)'] : [] }));

export const BAD: readonly Case[] = [
  {
    name: 'two holders of a mutex',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p2 ask b\n3 p2 grant b 2\n4 p1 hold a\n5 p1 lost a
      6 p2 release b\n7 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'a release of a live lease after the next grant',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p2 ask b\n3 p2 grant b 2\n6 p1 release a
      7 p1 released a freed\n8 p2 release b\n9 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'three permits held of two',
    lines: `0 p1 ask a cap=2\n1 p1 grant a 1\n2 p2 ask b cap=2 weight=2\n3 p2 grant b 2
      4 p1 hold a\n5 p1 lost a\n6 p2 release b\n7 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'two owners that hold a mutex',
    lines: `0 p1 ask a owner=o\n1 p1 grant a 1\n2 p2 ask b owner=q\n3 p2 grant b 2
      4 p1 release a\n5 p1 released a freed\n6 p2 release b\n7 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'two holders, one from before a loss of memory',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 - amnesia\n3 p2 ask b\n4 p2 grant b 2\n5 p1 hold a
      6 p1 lost a\n7 p2 release b\n8 p2 released b freed`,
    finds: ['exclusion (excused)'],
  },
  {
    name: 'two holders, both from after a loss of memory',
    lines: `0 - amnesia\n1 p1 ask a\n2 p1 grant a 1\n3 p2 ask b\n4 p2 grant b 2\n5 p1 hold a
      6 p1 lost a\n7 p2 release b\n8 p2 released b freed`,
    finds: ['exclusion'],
  },
  {
    name: 'two holders, one from before a forced release',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p3 force\n3 p3 forced\n3 p2 ask b\n4 p2 grant b 2
      5 p1 hold a\n6 p1 lost a\n7 p2 release b\n8 p2 released b freed`,
    finds: ['exclusion (excused)'],
  },
  {
    name: 'a fence that an earlier grant had',
    lines: turn('p1', 'a', 0, 7) + turn('p2', 'b', 10, 7),
    finds: ['fence'],
  },
  {
    name: 'a smaller fence after a loss of memory',
    lines: `${turn('p1', 'a', 0, 7)}\n9 - amnesia${turn('p2', 'b', 10, 6)}`,
    finds: ['fence'],
  },
  {
    name: 'the same fence for two concurrent grants',
    lines: `0 p1 ask a cap=2\n0 p2 ask b cap=2\n1 p2 grant b 2\n2 p1 grant a 2
      4 p1 release a\n5 p1 released a freed\n6 p2 release b\n7 p2 released b freed`,
    finds: ['fence'],
  },
  {
    name: 'an accepted late write',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 10, 2)}
      12 p2 use b 2 sent=11\n20 p1 use a 1 sent=13`,
    finds: ['use'],
  },
  {
    name: 'an accepted late write after the last of three writes',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 10, 2)}
      12 p2 use b 2 sent=11\n14 p2 use b 2 sent=13\n15 p2 use b 2 sent=14\n20 p1 use a 1 sent=13`,
    finds: ['use'],
  },
  {
    name: 'a smaller fence with a greater number of the resource, reply first',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 10, 2)}
      12 p1 use a 1 sent=2 at=8\n13 p2 use b 2 sent=11 at=7`,
    finds: ['use'],
  },
  {
    name: 'a smaller fence with a greater number of the resource, reply last',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a${turn('p2', 'b', 10, 2)}
      12 p2 use b 2 sent=11 at=7\n13 p1 use a 1 sent=2 at=8`,
    finds: ['use'],
  },
  {
    name: 'a grant with a smaller fence, noted after a later lease had ended',
    lines: `0 p1 ask a\n1 p2 ask b\n2 p2 grant b 2\n3 p2 release b\n4 p2 released b freed
      6 p1 grant a 1\n7 p1 release a\n8 p1 released a freed`,
    finds: ['linear'],
  },
  {
    name: 'a fair waiter that is overtaken',
    lines: `0 p1 ask a fair\n1 p1 queued a 5\n2 p2 ask b fair\n3 p2 grant b 1\n4 p2 release b
      5 p2 released b freed\n8 p1 grant a 2\n9 p1 release a\n10 p1 released a freed`,
    finds: ['order'],
  },
  {
    name: 'a waiter that is overtaken too often',
    // a root that was granted alone has eight times the hand-offs
    lines: `0 - begin localHandOffs=1\n0 p1 ask a\n1 p1 queued a 5
      ${Array.from('bcdefghij')
        .map((name, at) => turn('p2', name, 2 + 10 * at, 1 + at))
        .join('\n')}
      200 p1 grant a 13\n201 p1 release a\n202 p1 released a freed`,
    finds: ['order'],
  },
  {
    name: 'an ask that is open at the end',
    lines: '0 p1 ask a',
    finds: ['wakeup'],
  },
  {
    name: 'a release that is open at the end',
    lines: '0 p1 ask a\n1 p1 grant a 1\n2 p1 release a',
    finds: ['wakeup'],
  },
  {
    name: 'a key that is free too long while an attempt waits',
    lines: `0 - begin ttl=100 claimWindow=20 requestTimeout=50 slack=10\n${turn('p1', 'a', 0, 1)}
      2 p2 ask b\n300 p2 grant b 2\n301 p2 release b\n302 p2 released b freed`,
    finds: ['wakeup'],
  },
  {
    name: 'a wait that ends long after its limit',
    lines: `0 - begin slack=10\n1 p1 ask a wait=50\n90 p1 fail a HOLDFAST_TIMEOUT`,
    finds: ['wakeup'],
  },
  {
    name: 'a wait that ends too long after calm',
    lines: `0 - begin settle=50\n1 p1 ask a\n2 - calm\n90 p1 fail a HOLDFAST_ABORTED`,
    finds: ['wakeup'],
  },
  {
    name: 'a hold after the release',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 release a\n3 p1 released a freed\n4 p1 hold a`,
    finds: ['zombie'],
  },
  {
    name: 'a hold after the loss',
    lines: `0 p1 ask a\n1 p1 grant a 1\n2 p1 lost a\n4 p1 hold a`,
    finds: ['zombie'],
  },
  {
    name: 'a released lease that the store still shows',
    lines: `${turn('p1', 'a', 0, 1)}\n9 - seen holder:a:1`,
    finds: ['ghost'],
  },
  {
    name: 'a wait that timed out and that the store still shows',
    lines: `0 - begin slack=10 requestTimeout=10\n0 p1 ask a wait=5\n5 p1 fail a HOLDFAST_TIMEOUT
      90 - seen waiter:a`,
    finds: ['ghost'],
  },
  {
    name: 'a holder that the store shows with another fence',
    lines: `0 p1 ask a\n1 p1 grant a 4\n2 - seen holder:a:5\n3 p1 release a\n4 p1 released a freed`,
    finds: ['ghost'],
  },
  {
    name: 'a refusal of a free key',
    lines: `${turn('p1', 'a', 0, 1)}\n9 p2 ask b wait=0\n10 p2 fail b`,
    finds: ['refusal'],
  },
  {
    name: 'a grant after a failure',
    lines: `0 p1 ask a\n1 p1 fail a\n2 p1 grant a 1`,
    finds: ['lifecycle'],
  },
  {
    name: 'two attempts with one name',
    lines: turn('p1', 'a', 0, 1) + turn('p1', 'a', 10, 2),
    finds: ['lifecycle'],
  },
];
