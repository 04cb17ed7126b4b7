/*
 * The queue and the hand-off of a mutex: the holder, the waiters, and the messages between the
 * processes and the store. Requests, replies and pushes may be lost.
 *
 * There are three acquisitions: 0 and 1 in one process, 2 in another. So a lease can be handed off
 * inside a process (HAND_OFFS > 0) and by the store. Time is abstract: a lease may end in the store
 * as soon as no process considers it held (lease.pml checks that the process ends it first, I7).
 * Deadlines pass when nothing else can happen. Up to FAULTS faults of any kind may occur at any
 * time.
 *
 * Checked in every reachable state: I1 (at most one process considers itself the holder), I2
 * (fences grow from holder to holder), I3 (requests may be repeated). Checked at the end of every
 * run: I6 (nothing remains of ended acquisitions). Checked over all runs: I5, because every run
 * ends. There is no state in which a waiter is stuck, and no cycle in which it waits forever.
 *
 * Each step names the code that it models. BUG_... plants a mistake; `tools/model.mjs` lists the
 * mistakes and checks that each is found.
 */
#ifndef HAND_OFFS
#define HAND_OFFS 1
#endif
#ifndef FAULTS
#define FAULTS 2
#endif

#define TASKS 3
#define NONE TASKS
#define PROCESS(t) (t / 2)

mtype = { ACQUIRE, RELEASE, POLL };                     /* requests */
mtype = { GRANTED, QUEUED, FREED, HANDED_OFF, MISSED }; /* answers; MISSED: absent or dequeued */

/* One ordered connection for each process, and its wake channel. */
chan request[2] = [6] of { mtype, byte, byte, bool };   /* op, id, to, names a channel */
chan reply[2] = [4] of { mtype, byte, mtype, byte, byte }; /* op, id, answer, fence, handOffs */
chan push[2] = [6] of { byte, byte, byte };             /* id, fence, handOffs */

/* The store: engine/resource.ts */
byte holder = NONE;
byte heldFence, heldHandOffs, lastFence, lastTicket;
bool queued[TASKS];
byte ticket[TASKS];
bool channel[TASKS];

/* The processes: waiting/waiter.ts, lease/grip.ts */
mtype = { NEW, ASKING, WAITING, POLLING, HOLDING, RETURNING, UNSETTLED, DONE, DEAD };
mtype state[TASKS] = NEW;
byte knownTicket[TASKS];
bool named[TASKS];      /* waiter.channel: the last request named the wake channel */
byte fence[TASKS];
byte handOffs[TASKS];
byte successor[TASKS] = NONE;   /* the acquisition to which its release hands off the lease */
byte predecessor[TASKS] = NONE; /* grip.settled: the hand-off that must be answered first */
bool isLost[TASKS];
bool abandoned[TASKS];
bool up[2];
bool wanted[2];         /* there is a waiter, so the channel is opened: waiting/wake.ts, enter */

byte enteredFence;      /* the highest fence that the protected resource has seen */
byte faults = FAULTS;
byte i, head, best;

#define LISTENS(t) (up[PROCESS(t)])
#define HOLDS(t) (state[t] == HOLDING)
#define IN_USE(h) (HOLDS(h) || \
  (HOLDS(0) && predecessor[0] == h) || (HOLDS(1) && predecessor[1] == h))
#define WANTS(t) (state[t] == ASKING || state[t] == WAITING || state[t] == POLLING)
#ifdef BUG_NO_POLLING
#define DUE(t) (state[t] == ASKING || state[t] == RETURNING)
#else
#define DUE(t) (WANTS(t) || state[t] == RETURNING)
#endif
#define ENDED(t) (state[t] == DONE || state[t] == DEAD)
/* If only processes without a lease die, pushes alone must suffice. */
#ifdef PUSH_ALONE
#define HAS_NO_LEASE(t) (ENDED(t) || (state[t] == WAITING && channel[t] && holder != t))
#define MAY_DIE(p) (empty(request[p]) && HAS_NO_LEASE(2 * p) && (p == 1 || HAS_NO_LEASE(1)))
#else
#define MAY_DIE(p) true
#endif
#define QUIET (len(request[0]) + len(request[1]) + len(reply[0]) + len(reply[1]) + \
  len(push[0]) + len(push[1]) == 0)

/* ---- the store: engine/engine.ts, engine/serve.ts ---- */

/* Resource.grant */
inline grant(t) {
  holder = t;
  lastFence++;
#ifdef BUG_FENCE_FORGOTTEN
  lastFence = 1;
#endif
  heldFence = lastFence;
  heldHandOffs = HAND_OFFS;
  lastFence = lastFence + HAND_OFFS
}

/*
 * Resource.takeBackFences: returns the reserved fences that no hand-off used. In this model the
 * clock does not raise fences, so a fence returned by mistake would be granted again.
 */
inline takeBackFences() {
  lastFence = heldFence
}

/* Resource.dequeue */
inline dequeue(t) {
  queued[t] = false;
  ticket[t] = 0
}

/* serve(): grants to the head if the lock is free; skips dead waiters; `self` gets a reply */
inline serve(self) {
  do
  :: holder == NONE && (queued[0] || queued[1] || queued[2]) ->
     head = NONE; best = 255;
     i = 0;
     do
     :: i < TASKS ->
        if
        :: queued[i] && ticket[i] < best -> head = i; best = ticket[i]
        :: else
        fi;
        i++
     :: else -> break
     od;
     dequeue(head);
     if
     :: head != self && channel[head] && !LISTENS(head) ->
#ifdef BUG_DEAD_NOT_SKIPPED
        grant(head)
#else
        skip
#endif
     :: else ->
        grant(head);
        if
        :: head != self && channel[head] -> push[PROCESS(head)]!head,heldFence,heldHandOffs
        :: else
        fi
     fi
  :: else -> break
  od;
  i = 0; head = 0; best = 0
}

/* Engine.apply; one request of process p */
inline serveRequest(p) {
  d_step {
    request[p]?op,id,to,names;
    if
    :: op == ACQUIRE ->            /* acquire(), enter() */
       if
       :: holder == id -> skip
       :: else ->
          if
          :: queued[id] -> channel[id] = names
          :: !queued[id] && holder == NONE && !queued[0] && !queued[1] && !queued[2] -> grant(id)
          :: else ->
             /* enqueue(): with a ticket, in its old place */
             if
             :: knownTicket[id] == 0 -> lastTicket++; ticket[id] = lastTicket
             :: else -> ticket[id] = knownTicket[id]
             fi;
             queued[id] = true;
             channel[id] = names
          fi;
          serve(id)
       fi;
       if
       :: state[id] == DEAD -> skip
       :: state[id] != DEAD && holder == id -> reply[p]!op,id,GRANTED,heldFence,heldHandOffs
       :: else -> reply[p]!op,id,QUEUED,ticket[id],0
       fi
    :: op == RELEASE ->            /* release(), letGo() */
       answer = FREED;
#ifdef BUG_NO_COMPARE
       if
       :: holder != NONE -> holder = NONE
       :: else -> dequeue(id); answer = MISSED
       fi;
#else
       if
       :: holder == id && to != NONE && heldHandOffs > 0 ->
          dequeue(to);
          holder = to; heldFence++; heldHandOffs--;
          answer = HANDED_OFF
       :: holder == id && (to == NONE || heldHandOffs == 0) ->
          holder = NONE;
          /* a release without a successor means that the lease was never handed off */
          if
          :: to == NONE -> takeBackFences()
          :: else
          fi
       :: holder != id && to != NONE && holder == to && !queued[id] -> answer = HANDED_OFF
       :: else -> dequeue(id); answer = MISSED
       fi;
#endif
#ifdef BUG_RELEASE_SERVES_NOBODY
       skip;
#else
       serve(NONE);
#endif
       if
       :: state[id] == DEAD -> skip
       :: else -> reply[p]!op,id,answer,0,0
       fi
    :: op == POLL ->               /* poll() */
       serve(NONE);
       if
       :: state[id] == DEAD -> skip
       :: state[id] != DEAD && holder == id -> reply[p]!op,id,GRANTED,heldFence,heldHandOffs
       :: state[id] != DEAD && holder != id && queued[id] -> reply[p]!op,id,QUEUED,ticket[id],0
       :: else -> reply[p]!op,id,MISSED,0,0
       fi
    fi;
    op = 0; id = 0; to = 0; names = false; answer = 0
  }
}

/* ---- the processes ---- */

/* asker.ts, ask() */
inline ask(t) {
  state[t] = ASKING;
  named[t] = up[PROCESS(t)];
  request[PROCESS(t)]!ACQUIRE,t,NONE,named[t]
}

/* returns.ts, giveBack(): a release or a withdrawal */
inline sendRelease(t) {
  state[t] = RETURNING;
  request[PROCESS(t)]!RELEASE,t,successor[t],false
}

/* room.ts, #deliver(): user code runs from here on (I1, I2) */
inline hold(t, f, p) {
  assert(!HOLDS(0) && !HOLDS(1) && !HOLDS(2));
  assert(f > enteredFence);
  enteredFence = f;
  state[t] = HOLDING;
  fence[t] = f;
  handOffs[t] = p
}

/* room.ts, #granted(), #pushed(): requests again if the lease has ended by the local clock (I7) */
inline acceptGrant(t, f, p) {
  if
  :: holder == t && heldFence == f -> hold(t, f, p)
  :: else -> ask(t)
  fi
}

/* Clears the state of an ended acquisition, to reduce the number of states. */
inline finish(t) {
  state[t] = DONE;
  knownTicket[t] = 0;
  named[t] = false;
  fence[t] = 0;
  handOffs[t] = 0
}

/* core.ts, #settling(): the store's answer about the lease that was handed off to `h` */
inline settle(h, confirmed) {
  predecessor[h] = NONE;
  if
  :: state[h] == HOLDING && !confirmed -> isLost[h] = true; sendRelease(h)
  :: isLost[h] && (state[h] == DONE || state[h] == RETURNING) -> sendRelease(h)
#ifndef BUG_PASSED_TOO_LATE
  :: !isLost[h] && state[h] == DONE && confirmed -> sendRelease(h)
#endif
  :: state[h] == UNSETTLED -> sendRelease(h)
  :: else
  fi
}

inline receiveReply(p) {
  d_step {
    reply[p]?op,id,answer,x,y;
    if
    :: op == RELEASE && state[id] == RETURNING ->
       /* Returns.#tryUntil: it may have overtaken the hand-off that makes it the holder */
       if
#ifndef BUG_OVERTAKES
       :: answer == MISSED && predecessor[id] != NONE && !isLost[id] -> state[id] = UNSETTLED
       :: !(answer == MISSED && predecessor[id] != NONE && !isLost[id]) -> finish(id)
#else
       :: finish(id)
#endif
       fi;
       if
       :: successor[id] != NONE && predecessor[successor[id]] == id ->
          settle(successor[id], (answer == HANDED_OFF))
       :: else
       fi
    :: op == ACQUIRE && state[id] == ASKING ->
       if
       :: answer == GRANTED -> acceptGrant(id, x, y)
       :: answer == QUEUED ->
          knownTicket[id] = x;
          wanted[p] = true;
          /* room.ts, #wait(): the channel came up or went down meanwhile */
          if
#ifndef BUG_CHANNEL_NOT_TOLD
          :: named[id] != up[p] -> ask(id)
          :: named[id] == up[p] -> state[id] = WAITING
#else
          :: state[id] = WAITING
#endif
          fi
       fi
    :: op == POLL && state[id] == POLLING ->
       /* room.ts, stands() */
       if
       :: answer == GRANTED -> acceptGrant(id, x, y)
       :: answer == QUEUED -> state[id] = WAITING
       :: answer == MISSED -> ask(id)
       fi
    :: else -> skip                 /* a late reply is ignored: a release follows it */
    fi;
    op = 0; id = 0; answer = 0; x = 0; y = 0
  }
}

/* room.ts, #pushed() */
inline receivePush(p) {
  d_step {
    push[p]?id,x,y;
    if
    :: WANTS(id) -> acceptGrant(id, x, y)
    :: state[id] == DONE && abandoned[id] -> sendRelease(id)   /* #refuse() */
    :: else -> skip
    fi;
    id = 0; x = 0; y = 0
  }
}

/* room.ts, #giveUp(): a wait limit, an abort signal, close() */
inline abandon(t) {
  atomic {
    WANTS(t) && faults > 0 ->
    faults--;
    abandoned[t] = true;
#ifdef BUG_NO_WITHDRAWAL
    finish(t)
#else
    sendRelease(t)
#endif
  }
}

/* core.ts, release() */
inline release(t) {
  atomic {
    state[t] == HOLDING -> sendRelease(t)
  }
}

/* core.ts, release() with a successor: line.ts, successor(); room.ts, passOn() */
inline handOff(t, m) {
  atomic {
    state[t] == HOLDING && handOffs[t] > 0 && knownTicket[m] != 0 &&
    (state[m] == WAITING || state[m] == POLLING) ->
    successor[t] = m;
    sendRelease(t);
    hold(m, fence[t] + 1, handOffs[t] - 1);
    predecessor[m] = t
  }
}

/* keeper.ts: the lease ended by the local clock */
inline lose(t) {
  atomic {
    state[t] == HOLDING && faults > 0 ->
    faults--;
    isLost[t] = true;
    sendRelease(t)
  }
}

/* wake.ts: the channel is open (again); room.ts, #askAll() */
inline subscribe(p) {
  atomic {
    !up[p] && wanted[p] && !(state[2 * p] == DEAD) ->
    up[p] = true;
#ifndef BUG_SUBSCRIBED_TOO_LATE
    if
    :: state[2 * p] == WAITING || state[2 * p] == POLLING -> ask(2 * p)
    :: else
    fi;
    if
    :: p == 0 && (state[1] == WAITING || state[1] == POLLING) -> ask(1)
    :: else
    fi
#endif
  }
}

/*
 * Time passes when nothing else can happen: unanswered requests are repeated, and every local
 * queue is polled (line.ts, plan(); asker.ts, poll()).
 */
inline deadline(t) {
  if
  :: state[t] == ASKING -> ask(t)
  :: state[t] == RETURNING -> sendRelease(t)
#ifndef BUG_NO_POLLING
  :: state[t] == POLLING || state[t] == WAITING ->
     state[t] = POLLING;
     request[PROCESS(t)]!POLL,t,NONE,false
#endif
  :: else
  fi
}

inline deadlines() {
  atomic {
    timeout && (DUE(0) || DUE(1) || DUE(2)) ->
    deadline(0);
    deadline(1);
    deadline(2)
  }
}

/* A client sends a request again while the first one is still in flight (I3). */
inline repeat(t) {
  atomic {
    faults > 0 && len(request[PROCESS(t)]) < 2 &&
    (state[t] == ASKING || state[t] == RETURNING) ->
    if
    :: state[t] == ASKING -> faults--; ask(t)
    :: state[t] == RETURNING -> faults--; sendRelease(t)
    fi
  }
}

inline loseRequest(p) {
  d_step { faults > 0 && nempty(request[p]) -> request[p]?op,id,to,names; faults--;
    op = 0; id = 0; to = 0; names = false }
}

inline loseReply(p) {
  d_step { faults > 0 && nempty(reply[p]) -> reply[p]?op,id,answer,x,y; faults--;
    op = 0; id = 0; answer = 0; x = 0; y = 0 }
}

inline losePush(p) {
  d_step { faults > 0 && nempty(push[p]) -> push[p]?id,x,y; faults--; id = 0; x = 0; y = 0 }
}

/* The subscription ends, and pushes in flight are lost. */
inline cutChannel(p) {
  d_step {
    faults > 0 && up[p] ->
    faults--;
    up[p] = false;
    do
    :: nempty(push[p]) -> push[p]?id,x,y
    :: empty(push[p]) -> break
    od;
    id = 0; x = 0; y = 0
  }
}

/* SIGKILL: requests in flight may still arrive. */
inline crash(p) {
  d_step {
    faults > 0 && state[2 * p] != DEAD && MAY_DIE(p) ->
    faults--;
    up[p] = false;
    state[2 * p] = DEAD;
    if
    :: p == 0 -> state[1] = DEAD
    :: else
    fi;
    do
    :: nempty(push[p]) -> push[p]?id,x,y
    :: empty(push[p]) -> break
    od;
    do
    :: nempty(reply[p]) -> reply[p]?op,id,answer,x,y
    :: empty(reply[p]) -> break
    od;
    op = 0; id = 0; answer = 0; x = 0; y = 0
  }
}

/*
 * The store: a lease ends that no process considers held (I7). The next command serves the queue.
 * While the process lives, the lease would normally be renewed, released or reported first, so its
 * end then needs a delay, which counts as a fault.
 */
inline expire() {
  d_step {
    holder != NONE && !IN_USE(holder) && (state[holder] == DEAD || faults > 0) ->
    if
    :: state[holder] == DEAD
    :: else -> faults--
    fi;
#ifdef BUG_FENCES_BACK_AT_EXPIRY
    takeBackFences();
#endif
    holder = NONE
  }
}

/* I6: nothing remains of acquisitions that ended by themselves */
inline end() {
  d_step {
    ENDED(0) && ENDED(1) && ENDED(2) && QUIET ->
    i = 0;
    do
    :: i < TASKS ->
       assert(state[i] == DEAD || (holder != i && !queued[i]));
       i++
    :: else -> break
    od
  }
}

active proctype world() {
  mtype op, answer;
  byte id, to, x, y;
  bool names;
  do
  :: atomic { state[0] == NEW -> ask(0) }
  :: atomic { state[1] == NEW -> ask(1) }
  :: atomic { state[2] == NEW -> ask(2) }
  :: nempty(request[0]) && nfull(reply[0]) -> serveRequest(0)
  :: nempty(request[1]) && nfull(reply[1]) -> serveRequest(1)
  :: nempty(reply[0]) -> receiveReply(0)
  :: nempty(reply[1]) -> receiveReply(1)
  :: nempty(push[0]) -> receivePush(0)
  :: nempty(push[1]) -> receivePush(1)
  :: subscribe(0)
  :: subscribe(1)
  :: release(0)
  :: release(1)
  :: release(2)
  :: handOff(0, 1)
  :: handOff(1, 0)
  :: crash(0)
  :: crash(1)
#ifndef PUSH_ALONE
  :: expire()
  :: abandon(0)
  :: abandon(1)
  :: abandon(2)
  :: lose(0)
  :: lose(1)
  :: lose(2)
  :: repeat(0)
  :: repeat(1)
  :: repeat(2)
  :: loseRequest(0)
  :: loseRequest(1)
  :: loseReply(0)
  :: loseReply(1)
  :: losePush(0)
  :: losePush(1)
  :: cutChannel(0)
  :: cutChannel(1)
  :: deadlines()
#endif
  :: end() -> break
  od
}
