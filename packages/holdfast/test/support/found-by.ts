/**
 * Rare sequences, and the planted faults that each of them finds: it is tried first on these. A
 * fault that its sequence does not find any more is looked for among all of them.
 */
export const FOUND_BY: Readonly<Record<string, readonly string[]>> = {
  'waiters whose owner has a lease: one polls, one asks again': [
    'acquire: an acquisition that joined stays queued',
    'poll: a queued id does not join its owner',
  ],
  'a waiter whose process becomes silent at that microsecond': [
    'short release: the queue is not served',
    'liveness: a process is silent one microsecond too late',
    'short grant: a silent process is granted',
  ],
  'a queue that has its longest length': [
    'inspectMany: the waiters are not shown',
    'short acquire: a newcomer passes the limit of the queue',
  ],
  'a signalled waiter that gives up': [
    'park: an acquisition abandoned while queued drops the signal',
  ],
  'a signalled waiter that is withdrawn': ['release: a withdrawal drops the signal'],
  'a signalled waiter that is dead when its turn comes': [
    'serve: a dead waiter drops the signal',
    'plain: a lease with signals is plain',
  ],
  'a signalled waiter that has its lease and asks again': [
    'park: the reply to a grant omits its signal',
  ],
  'a forced release of an owner with holds of two processes': [
    'force: a process is notified of each hold',
    'force: only the first process is notified',
  ],
  'a grant and a new place after the clock stepped back': [
    'acquireMany: the queue of another mutex',
    'short grant: a process without waiters stays',
    'short acquire: the queue has no expiry',
    'short grant: the fence is the time',
    'short inspect: waiters are not shown',
  ],
  'a lease with reserved fences that is released at once': [
    'release: reserved fences are freed without a request in the ordinary case',
  ],
  'a change that does not fit, and its repeat when it would fit': [
    'resize: a change that does not fit is not noted',
  ],
  'a hold above the weight of its lease, while permits are free': [
    'resize: one of several holds exceeds the weight of the lease',
  ],
  'a waiter of an owner, with others behind it': [
    'plain: a queue with other waiters becomes plain',
    'plain: a queue with a heavy waiter, an owner or a signal counts as plain',
  ],
  'a parking owner with two holds': ['park: a lease with several holds is accepted'],
  'the only lease of a mutex: the expiry of the key stays': [
    'renewMany: the end of the resource never moves',
    'renewMany: the record has the old end',
  ],
  'the lease of a mutex with a waiter: the expiries of all keys move': [
    'renewMany: the end of the queue stays',
  ],
  'a longer lease': ['renewMany: shortens the lease'],
  'a channel for the only lease of a mutex': ['renew: the short path ignores the channel'],
  'the only lease of a mutex, which has ended': ['short renewal: an expired lease is restored'],
  'a shorter ttl for the only lease': ['short renewal: the lease becomes shorter'],
  'a turn behind a waiter of the same process': [
    'short grant: a root has the same hand-offs if it is alone',
    'short grant: no fences are reserved',
    'short inspect: the last fence is shown as the fence of the lease',
    'short turn: the next root overtakes the queue',
    'short turn: two roots of a process are counted as one',
    'wait: the patience counts before the pause only',
  ],
  'a waiter that leaves after the lease has expired': [
    'short release: a waiter leaves a lock that is free',
  ],
  'fair waiters that leave the queue of a held mutex, one after the other': [
    'short release: the id is not compared',
    'inspectMany: the fence after the hand-offs',
    'short acquire: fair waiters are not counted',
    'short release: a waiter that leaves still counts as fair',
    'short release: a waiter that leaves still counts for its process',
    'short release: the record keeps a waiter that left',
  ],
  'fair roots of two processes, and a repeat': [
    'inspect: the reserved fences are not shown',
    'acquire: the first id of the queue is ahead',
    'liveness: poll does not record the process as heard',
    'poll: a pause outlasts a poll',
    'short acquire: a repeated request tells the id ahead',
    'short acquire: the process is counted twice',
    'short grant: a fair root has no hand-offs',
    'short grant: a process keeps the number of its waiters',
    'short grant: the waiter stays',
    'short turn: the next root is not counted as fair',
    'short turn: the next root is not fair',
  ],
  'a fair root that is alone, and its next one': [
    'short turn: a fair root has more hand-offs if it is alone',
    'short turn: the ticket of the next root is forgotten',
  ],
  'fair waiters of a process with a channel, and a repeat': [
    'short grant: the push has no token',
    'short acquire: a waiter keeps its old channel and token',
    'short acquire: the other waiters of its process are forgotten',
  ],
  'a turn that names a parked acquisition': [
    'plain: a record with parked waiters is plain',
    'turn: a parked id is queued',
  ],
  'a grant to a fair waiter that names hand-offs': [
    'short grant: a fair root has more hand-offs if it is alone',
  ],
  'a grant to a root before a fair waiter': ['short grant: fair waiters are overtaken'],
  'polls of parked waiters: of one, of two of a process, and soon forgotten': [
    'asleep: a pause does not count for the silence',
    'asleep: a pause is not recorded',
    'asleep: the record is not kept for longer',
    'poll: a parked waiter is forgotten in its pause',
    'poll: a pause is not recorded',
    'poll: a process of many parked waiters pauses',
    'poll: parked waiters do not pause',
    'waiters: a pause is not saved',
  ],
  'polls of parked waiters while the lock is held, and when the lease has ended': [
    'asleep: a lease that has ended is not noticed',
    'asleep: no lease ends',
  ],
  'a poll of a parked waiter drops more silent waiters than one command does': [
    'asleep: those in the queue are forgotten',
  ],
  'polls of parked waiters while an owner has holds that end': ['asleep: an owner has one hold'],
  'a poll of one of two parked waiters of a process': [
    'asleep: a process that polls has one waiter',
  ],
  'a parked waiter is asked for when the record was kept for another one': [
    'asleep: a waiter is asked for, and forgotten',
  ],
  'a poll drops a parked waiter that is no longer asked for': [
    'asleep: one that is no longer asked for stays',
  ],
  'processes that wait for a semaphore with several leases look at their places in each poll': [
    'poll: a process pauses again beside several leases, and the place is the old one',
    'poll: a waiter never asks again',
    'processes: a pause does not count for the silence',
  ],
  'a process pauses again, for longer than an interval, and those in front have left': [
    'poll: a process pauses again without end',
    'poll: the first waiters pause',
    'wait: a pause does not count for the silence',
    'wait: a pause is not recorded',
    'wait: the place counts from 1',
  ],
  'a process pauses again behind more than 64 others, and those in front have left': [
    'releaseMany: the queue of another mutex',
  ],
  'a process pauses again after grants to those in front': [
    'poll: a process pauses again after a grant',
  ],
  'a process pauses again with another period, and after another request': [
    'acquire: the only lease is not ahead',
    'plain: a request ends a pause',
    'poll: a pause is a part of a ms',
    'poll: a process pauses again for less than a period',
    'poll: a process pauses again for more than the longest pause',
    'wait: a process that polls has one waiter',
  ],
  'waiters of few processes in front, and of eight with the own one': [
    'poll: a process counts as another one',
    'poll: waiters of one process count as processes',
  ],
  'polls of the last of eight, nine and ten waiters': ['wait: nine waiters are few'],
  'a pause of the longest length, and a waiter with the ticket of another': [
    'short acquire: a returning waiter loses its place',
    'short acquire: the last ticket goes back',
  ],
  'a poll of several acquisitions, one of which does not wait': [
    'poll: a process pauses of which one acquisition does not wait',
  ],
  'a process that pauses gets the lock, and the next ones are asked': [
    'plain: a process that pauses is granted in short',
    'serve: a process that pauses is granted without a question',
    'serve: a process that was asked may be silent for its pause',
    'serve: a process that was asked still pauses',
    'serve: no process is asked by push',
  ],
  'a poll of a program with a longer retention': ['wait: the record is not kept for longer'],
  'a process that pauses asks for more': [
    'plain: a shorter patience shortens that of an earlier command',
  ],
  'a process that pauses asks for more behind a waiter of an owner': [
    'processes: a shorter patience shortens that of an earlier command',
  ],
  'a process that pauses asks for more, and ends its wait': [
    'wait: a lease that has ended is not noticed',
  ],
  'a lease that ended unclaimed: paused processes are asked, and are silent soon': [
    'short grant: it lasts the whole ttl',
    'liveness: a lapsed claim has no effect',
    'processes: no waiter is asked after a lapse',
  ],
  'the holder asks again, for a longer retention': ['short acquire: the holder joins the queue'],
  'a lease that has ended is inspected, with others and alone': [
    'inspect: expired leases are counted',
    'inspectMany: an expired lease is shown',
    'short inspect: an ended lease is shown',
  ],
  'a lease that has ended asks again, and another one waits': [
    'short acquire: a lease that has ended is granted again',
  ],
  'the only lease of a mutex, which has ended, and others': ['renewMany: revives'],
  'a waiter of a mutex, and others': ['renewMany: the id is not compared'],
  'a channel for the second hold of a lease': [
    'renew: the channel is not recorded',
    'renew: the channel of a hold becomes that of the first one',
  ],
  'a fair root behind one of two leases': ['acquire: one of several leases is ahead'],
  'a lease whose reserved fences are given back': [
    'release: reserved fences stay reserved in the ordinary case',
  ],
  'an acquisition that joins while the permits of an expired lease are free': [
    'acquire: a join does not serve the queue',
  ],
  'an acquisition without a wait, whose owner is next in the queue': [
    'acquire: an acquisition that does not wait does not join',
  ],
  'a wrong capacity while the permits of an expired lease are free': [
    'acquire: a mismatch does not serve the queue',
  ],
  'a waiter above a lowered capacity that asks when its turn comes': [
    'acquire: a waiter above the capacity gets a plain refusal',
  ],
  'an owner with more holds than an inspection shows, and one above the weight of its lease': [
    'inspect: more holds than the limit',
  ],
  'waiters above a lowered capacity, and one that fits': [
    'serve: a waiter above the capacity blocks the queue',
  ],
  'a hold that expires beside another one, and a waiter for its permits': [
    'inspect: expired leases are shown',
    'holders: a lease keeps the weight of a released hold',
    'holds: the weight of a released hold stays in use',
  ],
  'a lower weight for one of several holds': [
    'holders: each hold gets the weight of the lease',
    'resize: other holds change too',
    'resize: a change that the other holds refuse is not noted',
  ],
  'a turn whose next root has a lease already': [
    'holders: reserved fences of other leases are freed',
    'turn: a holder is queued',
  ],
  'turns of unknown, queued and parked roots': [
    'short turn: a root with another fence ends',
    'plain: the time of the grant is forgotten',
  ],
  'a lower weight, which is still above a lowered capacity': [
    'resize: a lower weight takes a new fence',
    'resize: a lower weight needs free permits',
  ],
  'a hold that gets the weight of its lease': [
    'resize: a hold forgets its changes when the hold after it leaves',
    'resize: one of several holds keeps its old weight',
    'resize: the weight of the lease is taken for the weight of each hold',
  ],
  'a higher capacity for a root of a semaphore that is held': [
    'capacity: leases are granted beside a root',
    'capacity: a root becomes one of many',
  ],
  'the holder of a lease with hand-offs asks again': ['short acquire: a lease has its last fence'],
  'a release of a lease that has ended': [
    'record: the end moves too late',
    'short release: an expired lease is released',
  ],
  'a turn that used some of the reserved fences': ['short turn: used fences become free'],
  'a turn that used more fences than were reserved': [
    'short turn: used fences beyond the reserved ones count',
  ],
  'a late duplicate of a signal': [
    'signal: a repeat wakes another waiter',
    'signal: a late duplicate gets the reply of the last signal',
  ],
  'a signalled waiter that asks again with another kind': [
    'acquire: a queued waiter must agree on the capacity again',
  ],
  'a forced release of two leases, and a waiter': ['force: the queue is not served'],
  'a forced release of the second hold of an owner': ['force: the id of a hold is not found'],
  'more waiters than an inspection shows, one of them signalled': [
    'inspect: only the listed waiters are counted',
  ],
  'a parked acquisition that parks again with another channel and token': [
    'park: a parked acquisition keeps its old channel',
    'park: a parked acquisition keeps its old token',
  ],
  'a waiter that parks with another channel and token': [
    'park: a queued waiter keeps its old channel',
    'park: a queued waiter keeps its old token',
  ],
  'a change to the present weight': ['resize: a change to the present weight is not noted'],
  'a wrong capacity when a lease has ended, and a waiter': [
    'capacity: the queue is not served',
    'inspectMany: the time of the grant is lost',
  ],
  'a turn of the only lease, after a change to a higher capacity': [
    'capacity: the sole lease is lost',
  ],
  'a turn behind a signalled waiter that does not claim its lease': [
    'turn: the next root loses the place of its tasks',
  ],
  'a waiter of a semaphore that asks again with more tasks': [
    'acquire: a repeat does not report the tasks',
  ],
  'a request when the only lease has ended': ['short acquire: an expired lease holds the lock'],
  'a turn to a root with the place of its tasks, and its end': [
    'short turn: the next root loses the place of its tasks',
  ],
  'an owner whose heavy hold ends unclaimed, beside a light one': [
    'holds: the weight of an expired hold stays in use',
  ],
  'parked waiters are asked for out of order: between two, the first, before the last, the last': [
    'asleep: a waiter that is asked for is forgotten as before',
    'asleep: a waiter that is asked for keeps its place',
    'asleep: the last entry keeps no newer entry',
    'asleep: the last waiter stays the last',
    'asleep: the one before still names the waiter',
    'asleep: the one behind still names the waiter',
    'asleep: the waiter names the one behind it',
    'asleep: the waiter stays the first',
    'asleep: the waiters are counted again',
  ],
  'an owner whose first, last and middle holds are released': [
    'holds: a removed last hold stays last',
    'inspect: only one hold',
  ],
  'polls of parked waiters of a semaphore': [
    'acquire: the capacity changes while others are parked',
  ],
  'a higher weight, and the next grant': [
    'resize: the fence stays the same',
    'resize: the last fence is forgotten',
  ],
  'a signal when the process of the parked acquisition is silent': [
    'liveness: waiters of silent processes are woken',
  ],
};
