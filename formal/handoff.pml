/*
 * The queue and the hand-off: who holds a mutex, who waits for it, and what the two sides say to
 * one another, with replies and pushes that get lost.
 *
 * Three acquisitions, of which 0 and 1 live in one process and 2 in another, so that a lease can be
 * passed on inside a process (PASSES > 0) and handed over by the store. Time is abstract: a lease
 * may end in the store as soon as nobody believes in it (that beliefs end first is I7, which
 * lease.pml checks), and deadlines pass when nothing else can happen. FAULTS of any kinds may
 * strike at any moment.
 *
 * Checked in every reachable state: I1 (one believer at most), I2 (fences grow from holder to
 * holder), I3 (requests are repeated at will). Checked at the end of every run: I6 (nothing is left
 * of what has ended). Checked of all runs together: I5, as each of them ends. There is no state in
 * which a waiter is stuck, and no cycle in which it waits for ever.
 *
 * Each step names the code that it stands for. BUG_... plants a mistake; `tools/model.mjs` lists
 * which ones, and that each is found.
 */
#ifndef PASSES
#define PASSES 1
#endif
#ifndef FAULTS
#define FAULTS 2
#endif

#define TASKS 3
#define NONE TASKS
#define PROCESS(t) (t / 2)

mtype = { ACQUIRE, RELEASE, POLL };                     /* requests */
mtype = { GRANTED, QUEUED, FREED, PASSED, MISSED };     /* answers; MISSED: absent or dequeued */

/* One ordered connection for each process, and its wake channel. */
chan request[2] = [6] of { mtype, byte, byte, bool };   /* op, id, to, names a channel */
chan reply[2] = [4] of { mtype, byte, mtype, byte, byte }; /* op, id, answer, fence, passes */
chan push[2] = [6] of { byte, byte, byte };             /* id, fence, passes */

/* The store: engine/resource.ts */
byte holder = NONE;
byte heldFence, heldPasses, lastFence, lastTicket;
bool queued[TASKS];
byte ticket[TASKS];
bool channel[TASKS];

/* The processes: waiting/waiter.ts, lease/grip.ts */
mtype = { NEW, ASKING, WAITING, POLLING, HOLDING, RETURNING, SETTLING, DONE, DEAD };
mtype state[TASKS] = NEW;
byte knownTicket[TASKS];
bool named[TASKS];      /* waiter.channel: the last request named the wake channel */
byte fence[TASKS];
byte passes[TASKS];
byte successor[TASKS] = NONE; /* whom its release passes the lease on to */
byte heirOf[TASKS] = NONE;    /* grip.settled: whose release has to be answered first */
bool isLost[TASKS];
bool givenUp[TASKS];
bool up[2];
bool wanted[2];         /* somebody waits, so the channel is opened: waiting/wake.ts, enter */

byte enteredFence;      /* the greatest that the protected resource has seen */
byte faults = FAULTS;
byte i, head, best;

#define LISTENS(t) (up[PROCESS(t)])
#define BELIEVES(t) (state[t] == HOLDING)
#define IN_USE(h) (BELIEVES(h) || \
  (BELIEVES(0) && heirOf[0] == h) || (BELIEVES(1) && heirOf[1] == h))
#define WANTS(t) (state[t] == ASKING || state[t] == WAITING || state[t] == POLLING)
#ifdef BUG_NO_POLLING
#define DUE(t) (state[t] == ASKING || state[t] == RETURNING)
#else
#define DUE(t) (WANTS(t) || state[t] == RETURNING)
#endif
#define OVER(t) (state[t] == DONE || state[t] == DEAD)
/* Where only those die who hold nothing and are promised nothing, push alone must do. */
#ifdef PUSH_ALONE
#define HAS_NOTHING(t) (OVER(t) || (state[t] == WAITING && channel[t] && holder != t))
#define MAY_DIE(p) (empty(request[p]) && HAS_NOTHING(2 * p) && (p == 1 || HAS_NOTHING(1)))
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
  heldPasses = PASSES;
  lastFence = lastFence + PASSES
}

/*
 * Resource.takeBackFences: the fences that no pass used. The clock lifts no fence here, so one that
 * went back although a pass had used it would be granted again.
 */
inline takeBackFences() {
  lastFence = heldFence
}

/* Resource.dequeue */
inline dequeue(t) {
  queued[t] = false;
  ticket[t] = 0
}

/* serve(): the head, if nobody holds; the dead are skipped; `self` is told by its reply */
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
        :: head != self && channel[head] -> push[PROCESS(head)]!head,heldFence,heldPasses
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
       :: state[id] != DEAD && holder == id -> reply[p]!op,id,GRANTED,heldFence,heldPasses
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
       :: holder == id && to != NONE && heldPasses > 0 ->
          dequeue(to);
          holder = to; heldFence++; heldPasses--;
          answer = PASSED
       :: holder == id && (to == NONE || heldPasses == 0) ->
          holder = NONE;
          /* a release without a successor says that the lease was never passed on */
          if
          :: to == NONE -> takeBackFences()
          :: else
          fi
       :: holder != id && to != NONE && holder == to && !queued[id] -> answer = PASSED
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
       :: state[id] != DEAD && holder == id -> reply[p]!op,id,GRANTED,heldFence,heldPasses
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

/* returns.ts, giveBack(): of a release and of a withdrawal */
inline giveBack(t) {
  state[t] = RETURNING;
  request[PROCESS(t)]!RELEASE,t,successor[t],false
}

/* room.ts, #deliver(): user code runs from here on (I1, I2) */
inline hold(t, f, p) {
  assert(!BELIEVES(0) && !BELIEVES(1) && !BELIEVES(2));
  assert(f > enteredFence);
  enteredFence = f;
  state[t] = HOLDING;
  fence[t] = f;
  passes[t] = p
}

/* room.ts, #granted(), #pushed(): what has ended by now on our clock is asked for again (I7) */
inline believe(t, f, p) {
  if
  :: holder == t && heldFence == f -> hold(t, f, p)
  :: else -> ask(t)
  fi
}

/* What has ended remembers nothing that could matter: fewer states to tell apart. */
inline finish(t) {
  state[t] = DONE;
  knownTicket[t] = 0;
  named[t] = false;
  fence[t] = 0;
  passes[t] = 0
}

/* core.ts, #settling(): the store's word on the lease that was passed on to `h` */
inline settle(h, passed) {
  heirOf[h] = NONE;
  if
  :: state[h] == HOLDING && !passed -> isLost[h] = true; giveBack(h)
  :: isLost[h] && (state[h] == DONE || state[h] == RETURNING) -> giveBack(h)
#ifndef BUG_PASSED_TOO_LATE
  :: !isLost[h] && state[h] == DONE && passed -> giveBack(h)
#endif
  :: state[h] == SETTLING -> giveBack(h)
  :: else
  fi
}

inline hear(p) {
  d_step {
    reply[p]?op,id,answer,x,y;
    if
    :: op == RELEASE && state[id] == RETURNING ->
       /* Returns.#tryUntil: it may have overtaken the release that makes it the holder */
       if
#ifndef BUG_OVERTAKES
       :: answer == MISSED && heirOf[id] != NONE && !isLost[id] -> state[id] = SETTLING
       :: !(answer == MISSED && heirOf[id] != NONE && !isLost[id]) -> finish(id)
#else
       :: finish(id)
#endif
       fi;
       if
       :: successor[id] != NONE && heirOf[successor[id]] == id ->
          settle(successor[id], (answer == PASSED))
       :: else
       fi
    :: op == ACQUIRE && state[id] == ASKING ->
       if
       :: answer == GRANTED -> believe(id, x, y)
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
       :: answer == GRANTED -> believe(id, x, y)
       :: answer == QUEUED -> state[id] = WAITING
       :: answer == MISSED -> ask(id)
       fi
    :: else -> skip                 /* late: whatever it says, a release is behind it */
    fi;
    op = 0; id = 0; answer = 0; x = 0; y = 0
  }
}

/* room.ts, #pushed() */
inline hearPush(p) {
  d_step {
    push[p]?id,x,y;
    if
    :: WANTS(id) -> believe(id, x, y)
    :: state[id] == DONE && givenUp[id] -> giveBack(id)   /* #refuse() */
    :: else -> skip
    fi;
    id = 0; x = 0; y = 0
  }
}

/* room.ts, #giveUp(): a wait limit, an abort signal, close() */
inline giveUp(t) {
  atomic {
    WANTS(t) && faults > 0 ->
    faults--;
    givenUp[t] = true;
#ifdef BUG_NO_WITHDRAWAL
    finish(t)
#else
    giveBack(t)
#endif
  }
}

/* core.ts, release() */
inline release(t) {
  atomic {
    state[t] == HOLDING -> giveBack(t)
  }
}

/* core.ts, release() with a heir: line.ts, successor(); room.ts, passOn() */
inline passOn(t, m) {
  atomic {
    state[t] == HOLDING && passes[t] > 0 && knownTicket[m] != 0 &&
    (state[m] == WAITING || state[m] == POLLING) ->
    successor[t] = m;
    giveBack(t);
    hold(m, fence[t] + 1, passes[t] - 1);
    heirOf[m] = t
  }
}

/* keeper.ts: the lease ended on our clock */
inline lose(t) {
  atomic {
    state[t] == HOLDING && faults > 0 ->
    faults--;
    isLost[t] = true;
    giveBack(t)
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
 * Time passes, when nothing else can happen: what was not answered is asked again, and every line
 * of waiters is looked after (line.ts, plan(); asker.ts, poll()).
 */
inline deadline(t) {
  if
  :: state[t] == ASKING -> ask(t)
  :: state[t] == RETURNING -> giveBack(t)
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

/* A request is sent again while the first is still under way (I3): a client that re-sends. */
inline repeat(t) {
  atomic {
    faults > 0 && len(request[PROCESS(t)]) < 2 &&
    (state[t] == ASKING || state[t] == RETURNING) ->
    if
    :: state[t] == ASKING -> faults--; ask(t)
    :: state[t] == RETURNING -> faults--; giveBack(t)
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

/* The subscription is gone, and what it carried with it. */
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

/* SIGKILL: requests that were sent may still arrive. */
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
 * The store: a lease ends that nobody believes in any more (I7). The next command serves. While its
 * process lives, it would be renewed, given back or heard of first: that takes a delay, a fault.
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

/* I6: nothing is left of what has ended by itself */
inline end() {
  d_step {
    OVER(0) && OVER(1) && OVER(2) && QUIET ->
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
  :: nempty(reply[0]) -> hear(0)
  :: nempty(reply[1]) -> hear(1)
  :: nempty(push[0]) -> hearPush(0)
  :: nempty(push[1]) -> hearPush(1)
  :: subscribe(0)
  :: subscribe(1)
  :: release(0)
  :: release(1)
  :: release(2)
  :: passOn(0, 1)
  :: passOn(1, 0)
  :: crash(0)
  :: crash(1)
#ifndef PUSH_ALONE
  :: expire()
  :: giveUp(0)
  :: giveUp(1)
  :: giveUp(2)
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
