/*
 * Roots: a process has one entry in the queue of the store for each key, and hands the lease on
 * among its own tasks without telling the store.
 *
 * The store grants a root: an id, a fence f, and a number of passes p; the fences f to f + p are
 * reserved for it. Task i of the root uses the fence f + i. TURN(root, again) ends a root, names
 * the last fence that was used, and puts the next root of the process (`again`) into the queue.
 *
 * There are four tasks: 0, 1 and 2 in one process, 3 in another. Time is abstract: a lease may end
 * in the store as soon as its process does not believe in it (lease.pml checks that the process
 * ends it first, I7, and that a local hand-off changes nothing about that). A process that is
 * paused does not notice the end at once. Up to FAULTS faults of any kind occur at any time.
 *
 * Checked in every reachable state: at most one process believes that it holds (I1); fences grow
 * from task to task (I2), also after a TURN that returns fences and, with CLOCK, after a deletion
 * of the key; a copy of TURN queues no root that is over; no entry is granted before another one
 * that was queued when its oldest task arrived (I4); no local hand-off overtakes a queued fair
 * acquisition (with FAIR, task 3). Checked at the end of every run: nothing is left of roots that
 * are over (I6). Checked over all runs: every run ends, so no task waits forever (I5). With CALM
 * (only aborts and crashes, and no deadlines): pushes and replies alone suffice, and a process
 * never has two entries. With MUTE (from some moment on, no reply reaches process 0, but its
 * requests arrive): after a repetition of the requests, no root that was given up holds or waits.
 *
 * A forced release or a deletion ends a lease in which a process still believes; then only the
 * fences protect. Such a root is `broken`: only the rules about fences apply to it.
 *
 * BUG_... plants a mistake; `tools/model.mjs` lists the mistakes and checks that each is found.
 */
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef PASSES_ALONE
#define PASSES_ALONE 2   /* the passes of a root if no other entry waits */
#endif
#define PASSES_BUSY 1

#define TASKS 4
#define LATE 2
#define NO_TASK TASKS
#define OWNER(t) (t == 3)      /* the process of a task */
/* A process needs one root for each task, and one more for each fault. */
#if FAULTS > 1
#define ROOTS 8
#define SPLIT 5                /* process 0 has the roots before it */
#define EVERY(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)
#define COUNT(is) (is(0) + is(1) + is(2) + is(3) + is(4) + is(5) + is(6) + is(7))
#define FIRST_COUNT(is) (is(0) + is(1) + is(2) + is(3) + is(4))
#else
#define ROOTS 6
#define SPLIT 4
#define EVERY(step) step(0) step(1) step(2) step(3) step(4) step(5)
#define COUNT(is) (is(0) + is(1) + is(2) + is(3) + is(4) + is(5))
#define FIRST_COUNT(is) (is(0) + is(1) + is(2) + is(3))
#endif
#define NONE ROOTS
#define PROCESS(r) (r >= SPLIT)
#define FIRST(p) (SPLIT * p)
#define END(p) (p == 0 -> SPLIT : ROOTS)
#ifdef FAIR
#define IS_FAIR(r) (r >= SPLIT)
#define FAIR_QUEUED (COUNT(IS_QUEUED) > FIRST_COUNT(IS_QUEUED))
#else
#define IS_FAIR(r) false
#define FAIR_QUEUED false
#endif

mtype = { ACQUIRE, TURN, POLL };                  /* requests; a release is TURN without `again` */
mtype = { GRANTED, QUEUED, ABSENT, GRANT, REVOKE };  /* how an id stands; pushes */

/* One ordered connection for each process: op, root, its fence, the last fence used, `again`. */
chan request[2] = [5] of { mtype, byte, byte, byte, byte };
chan reply[2] = [5] of { mtype, byte, mtype, byte, byte };   /* op, root, standing, fence, passes */
chan push[2] = [5] of { mtype, byte, byte, byte };           /* kind, root, fence, passes */
/* A copy of a request that an old connection still carries. */
chan late = [1] of { mtype, byte, byte, byte, byte };

/* ---- the store ---- */
byte holder = NONE;
byte heldFence, heldPasses, lastFence;
bool queued[ROOTS];
byte ticket[ROOTS];
byte time;              /* orders arrivals and places in the queue */
#ifdef CLOCK
byte clock = 1;         /* in units of the fence; a grant or a hand-off takes one or more */
byte heldSince;
#endif

/* ---- the processes ---- */
mtype = { UNUSED, ASKING, WAITING, POLLING, HELD, TURNING, UNSETTLED, OVER };
mtype state[ROOTS] = UNUSED;
byte rootFence[ROOTS];          /* 0: never held */
byte lastUsed[ROOTS];
byte again[ROOTS] = NONE;       /* the root that its TURN queues */
byte queuedBy[ROOTS] = NONE;    /* the root whose unanswered TURN queues it */
byte user[ROOTS] = NO_TASK;     /* the task that holds under it */
byte since[ROOTS];              /* the arrival of its oldest task when it was queued */
byte ahead[ROOTS] = NONE;       /* an entry that was queued when that task arrived */
bool lapsed[ROOTS];             /* its local deadline has passed, noticed or not */
bool lost[ROOTS];               /* its process knows that it has ended */
bool broken[ROOTS];
bool mayBeDuplicated[ROOTS];    /* a copy of its ACQUIRE was under way */
byte endedGrant[ROOTS];         /* the fence of a grant that was forced before it was known */
bool fairAhead[ROOTS];          /* a fair acquisition was queued at its grant */
byte passes[2];                 /* left of the present root */
byte current[2] = NONE;         /* the root with which a process waits or holds */
byte nextRoot[2];
bool dead[2];

mtype = { NEW, LOCAL, WORKING, GONE };
mtype task[TASKS] = NEW;
byte arrived[TASKS];
byte aheadOf[TASKS] = NONE;

byte enteredFence;              /* the highest fence that the protected resource has seen */
byte faults = FAULTS;
bool overslept;
#ifdef MUTE
bool muted, repeated;   /* replies to process 0 are lost; its requests were sent again since */
#define HEARS(p) (!dead[p] && !(muted && p == 0))
#else
#define HEARS(p) (!dead[p])
#endif
byte copied = NONE;     /* the root of which a late ACQUIRE is under way */
byte i, head, best;

#define WORKS(r) :: user[r] != NO_TASK -> root = r
#define BELIEVES(r) (state[r] == HELD && !lapsed[r] && !lost[r])
#define HOLDS(r) (BELIEVES(r) && !broken[r])
#define WANTS(r) (state[r] == ASKING || state[r] == WAITING || state[r] == POLLING)
#define LOCALS(p) (p == 1 -> task[3] == LOCAL : \
  (task[0] == LOCAL || task[1] == LOCAL || task[2] == LOCAL))
#define OLDEST(p) (p == 1 -> 3 : (task[0] == LOCAL -> 0 : (task[1] == LOCAL -> 1 : 2)))
#define IS_OVER(r) (state[r] == OVER || state[r] == UNUSED)
#define NO_TASK_IS(s) (task[0] != s && task[1] != s && task[2] != s && task[3] != s)
#define QUIET (len(request[0]) + len(request[1]) + len(reply[0]) + len(reply[1]) + \
  len(push[0]) + len(push[1]) == 0)
#define MAY_EXPIRE (holder != NONE && !BELIEVES(holder) && \
  (dead[PROCESS(holder)] || lapsed[holder]))
#ifdef CALM
#define MAY_DIE(p) (empty(request[p]) && (holder == NONE || PROCESS(holder) != p))
#else
#define MAY_DIE(p) true
#endif

/* ---- the store ---- */

#define ENTRY(r) ((queued[r] || holder == r) && (WANTS(r) || state[r] == HELD))
#define IS_QUEUED(r) queued[r]
#define IN_QUEUE (COUNT(IS_QUEUED) > 0)

inline grant(r) {
  holder = r;
  heldPasses = (IN_QUEUE -> PASSES_BUSY : PASSES_ALONE);
#ifndef BUG_FAIR_OVERTAKEN
  heldPasses = (IS_FAIR(r) || FAIR_QUEUED -> 0 : heldPasses);
#endif
  fairAhead[r] = FAIR_QUEUED;
  lastFence++;
#ifdef CLOCK
  lastFence = (lastFence < clock -> clock : lastFence);
  heldSince = clock;
  clock++;
#endif
  heldFence = lastFence;
  lastFence = lastFence + heldPasses;
  /* I4: an entry that was queued when the oldest task arrived is served first */
  assert(dead[PROCESS(r)] || ahead[r] == NONE || !(queued[ahead[r]] && WANTS(ahead[r])))
}

inline enqueue(r, at) {
  queued[r] = true;
  if
  :: at == 0 -> time++; ticket[r] = time
  :: else -> ticket[r] = at
  fi
}

inline dequeue(r) {
  queued[r] = false;
  ticket[r] = 0
}

/* The lease ends in the store. Fences that may have been used are not returned. */
inline endLease() {
#ifdef BUG_FENCES_BACK_AT_EXPIRY
  lastFence = heldFence;
#endif
#ifdef CLOCK
  /* such an end comes later than its reserved fences in microseconds */
  clock = (clock < heldSince + heldPasses + 1 -> heldSince + heldPasses + 1 : clock);
  heldSince = 0;
#endif
  holder = NONE;
  heldFence = 0;
  heldPasses = 0
}

/* serve.ts: grants to the head if the lock is free; skips dead processes; the reply tells `self` */
inline serve(self) {
  do
  :: holder == NONE && IN_QUEUE ->
     head = NONE; best = 255;
     i = 0;
     do
     :: i < ROOTS ->
        if
        :: queued[i] && ticket[i] < best -> head = i; best = ticket[i]
        :: else
        fi;
        i++
     :: else -> break
     od;
#ifdef BUG_AGAIN_AHEAD
     if
     :: self != NONE && queued[self] -> head = self
     :: else
     fi;
#endif
     dequeue(head);
     if
     :: dead[PROCESS(head)] -> skip
     :: else ->
        grant(head);
        if
        :: head != self -> push[PROCESS(head)]!GRANT,head,heldFence,heldPasses
        :: else
        fi
     fi
  :: else -> break
  od;
  i = 0; head = 0; best = 0
}

/* One request: op, id, fence, used, next are set; sets `answer` */
inline execute() {
  answer = ABSENT;
  if
  :: op == ACQUIRE ->
     if
     :: holder == id -> skip
     :: else ->
        if
        :: queued[id] -> skip
        :: !queued[id] && holder == NONE && !IN_QUEUE -> grant(id)
        :: else -> enqueue(id, since[id])
        fi;
        serve(id)
     fi;
     next = id
  :: op == TURN ->
     if
     :: holder == id ->
#ifdef BUG_TURN_UNNAMED
        if
        :: used < heldFence -> used = heldFence
        :: else
        fi;
        fence = heldFence;
#endif
        /* what is held under another fence was granted to a late copy: none of it was used */
#ifndef BUG_FENCES_STAY
        lastFence = (fence == heldFence -> used : heldFence);
#endif
#ifdef BUG_USED_NOT_TOLD
        lastFence = heldFence;
#endif
        if
        :: fence == heldFence && next != NONE && !queued[next] ->
           assert(state[next] != OVER || dead[PROCESS(next)]);
           enqueue(next, since[next])
        :: else
        fi;
        holder = NONE; heldFence = 0; heldPasses = 0;
#ifdef CLOCK
        heldSince = 0
#endif
     :: holder != id ->
        dequeue(id);
#ifdef BUG_TURN_WITHOUT_ROOT
        if
        :: next != NONE && !queued[next] && holder != next ->
           assert(state[next] != OVER || dead[PROCESS(next)]);
           enqueue(next, since[next])
        :: else
        fi
#endif
     fi;
     serve(next)
  :: op == POLL ->
     serve(NONE);
     next = id
  fi;
  if
  :: next != NONE && holder == next -> answer = GRANTED
  :: next != NONE && holder != next && queued[next] -> answer = QUEUED
  :: else
  fi
#ifdef CALM
  ; best = FIRST_COUNT(ENTRY);
  assert(best < 2);
  best = 0
#endif
}

inline clearMessage() {
  op = 0; id = 0; fence = 0; used = 0; next = 0; answer = 0; p = 0; root = 0
}

/* Ends a root, or withdraws it from the queue. Every repetition is the same. */
inline turn(r) {
  state[r] = TURNING;
  request[PROCESS(r)]!TURN,r,rootFence[r],lastUsed[r],again[r]
}

/* Withdraws a root before the TURN that queues it is answered, and after each repetition of it. */
inline withdraw(r) {
  state[r] = UNSETTLED;
#ifndef BUG_WITHDRAWN_TOO_LATE
  request[PROCESS(r)]!TURN,r,0,0,NONE
#endif
}

/* late-duplicates.ts: releases a root that is over once more, after a copy of its ACQUIRE */
inline follow(r) {
  if
  :: mayBeDuplicated[r] && state[r] == OVER && copied != r && !dead[PROCESS(r)] ->
     mayBeDuplicated[r] = false;
     turn(r)
  :: else
  fi
}

inline serveRequest() {
  atomic {
    if
    :: nempty(request[0]) && nfull(reply[0]) -> p = 0
    :: nempty(request[1]) && nfull(reply[1]) -> p = 1
#ifndef CALM
    :: nempty(late) -> p = LATE
#endif
    fi;
    d_step {
      if
      :: p == LATE -> late?op,id,fence,used,next; overslept = false; copied = NONE
      :: else -> request[p]?op,id,fence,used,next
      fi;
      root = id;
      execute();
      if
      :: p == LATE -> follow(root)
      :: p != LATE && HEARS(p) && answer == GRANTED -> reply[p]!op,root,answer,heldFence,heldPasses
      :: p != LATE && HEARS(p) && answer != GRANTED -> reply[p]!op,root,answer,0,0
      :: else -> skip
      fi;
      clearMessage()
    }
  }
}

/* ---- the processes ---- */

inline ask(r) {
  state[r] = ASKING;
  request[PROCESS(r)]!ACQUIRE,r,0,0,NONE
}

/* A new root for the tasks that wait here. */
inline newRoot(p, r) {
  r = FIRST(p) + nextRoot[p];
  assert(state[r] == UNUSED);
  nextRoot[p] = (r + 1 == END(p) -> nextRoot[p] : nextRoot[p] + 1);
  current[p] = r;
  state[r] = ASKING;
  since[r] = arrived[OLDEST(p)];
  ahead[r] = aheadOf[OLDEST(p)]
}

/* The first task that waits gets the lease: user code runs from here on (I1, I2). */
inline hold(p, r, f) {
  assert(!lost[r]);
  best = COUNT(HOLDS) - HOLDS(r);
  assert(broken[r] || best == 0);
  best = 0;
  assert(broken[r] || f > enteredFence);
  enteredFence = (f > enteredFence -> f : enteredFence);
  lastUsed[r] = f;
  user[r] = OLDEST(p);
  aheadOf[OLDEST(p)] = NONE;
  arrived[OLDEST(p)] = 0;
  task[user[r]] = WORKING
}

inline accept(r, f, n) {
  queuedBy[r] = NONE;
  if
  :: (holder == r && heldFence == f) || (endedGrant[r] == f) ->
     broken[r] = !(holder == r && heldFence == f);
     state[r] = HELD;
     rootFence[r] = f;
     passes[PROCESS(r)] = n;
     since[r] = 0;
     ahead[r] = NONE;
     hold(PROCESS(r), r, f)
  :: else -> ask(r)
  fi
}

/* Clears the state of a root that is over, to reduce the number of states. */
inline finish(r) {
  state[r] = OVER;
  rootFence[r] = 0;
  lastUsed[r] = 0;
  again[r] = NONE;
  since[r] = 0;
  ahead[r] = NONE;
  lapsed[r] = false;
  lost[r] = false;
  broken[r] = false;
  endedGrant[r] = 0;
  fairAhead[r] = false
}

inline receiveReply() {
  atomic {
    if
    :: nempty(reply[0]) -> p = 0
    :: nempty(reply[1]) -> p = 1
    fi;
    d_step {
      reply[p]?op,id,answer,fence,used;
      root = NONE;
      if
      :: op == TURN && state[id] == TURNING ->
         next = again[id];
         finish(id);
         follow(id);
         if
         :: next != NONE && queuedBy[next] == id ->
            queuedBy[next] = NONE;
            root = next
         :: else
         fi
      :: op == ACQUIRE && state[id] == ASKING -> root = id
      :: op == POLL && state[id] == POLLING -> root = id
      :: else -> skip
      fi;
      if
      :: root != NONE && state[root] == UNSETTLED && answer != ABSENT -> turn(root)
      :: root != NONE && state[root] == UNSETTLED && answer == ABSENT -> finish(root)
      :: root != NONE && WANTS(root) && answer == GRANTED -> accept(root, fence, used)
      :: root != NONE && WANTS(root) && answer == QUEUED -> state[root] = WAITING
      :: root != NONE && WANTS(root) && answer == ABSENT -> ask(root)
      :: else
      fi;
      clearMessage()
    }
  }
}

/* The process learns that a root has ended: its task is told, the others ask anew. */
inline lose(r) {
  lost[r] = true;
  current[PROCESS(r)] = NONE;
  passes[PROCESS(r)] = 0;
#ifndef BUG_NOT_ASKED_ANEW
  if
  :: LOCALS(PROCESS(r)) ->
     newRoot(PROCESS(r), head);
     ask(head);
     head = 0
  :: else
  fi
#endif
}

inline receivePush() {
  atomic {
    if
    :: nempty(push[0]) -> p = 0
    :: nempty(push[1]) -> p = 1
    fi;
    d_step {
      push[p]?op,id,fence,used;
      if
      :: op == GRANT && WANTS(id) -> accept(id, fence, used)
      :: op == GRANT && state[id] == OVER -> turn(id)
      :: op == REVOKE && state[id] == HELD && !lost[id] -> lose(id)
      :: else -> skip
      fi;
      clearMessage()
    }
  }
}

inline arrive() {
  atomic {
    if
    :: task[0] == NEW -> t = 0
    :: task[0] != NEW && task[1] == NEW -> t = 1
    :: task[1] != NEW && task[2] == NEW -> t = 2
    :: task[3] == NEW -> t = 3
    fi;
    task[t] = LOCAL;
    time++;
    arrived[t] = time;
    i = 0;
    do
    :: i < ROOTS ->
       if
       :: queued[i] && WANTS(i) && PROCESS(i) != OWNER(t) -> aheadOf[t] = i
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    if
#ifndef BUG_SECOND_ENTRY
    :: current[OWNER(t)] == NONE ->
#else
    :: true ->
#endif
       newRoot(OWNER(t), head); ask(head); head = 0
#ifndef BUG_SECOND_ENTRY
    :: else
#endif
    fi;
    t = 0
  }
}

/*
 * The task ends its work: a local hand-off, or TURN. A hand-off is always a choice: the claim
 * window may be over, and the next task may have other terms.
 */
inline release() {
  atomic {
    if
    EVERY(WORKS)
    fi;
    task[user[root]] = GONE;
    user[root] = NO_TASK;
    if
#ifdef BUG_NO_CLOCK
    :: state[root] == HELD && !lost[root] && LOCALS(PROCESS(root)) && passes[PROCESS(root)] > 0 ->
#else
#ifdef BUG_ONE_PASS_MORE
    :: BELIEVES(root) && LOCALS(PROCESS(root)) ->
       passes[PROCESS(root)]++;
#else
    :: BELIEVES(root) && LOCALS(PROCESS(root)) && passes[PROCESS(root)] > 0 ->
#endif
#endif
       assert(!fairAhead[root]);
       passes[PROCESS(root)]--;
#ifdef CLOCK
       clock++;
#endif
       hold(PROCESS(root), root, lastUsed[root] + 1)
    :: !lost[root] && LOCALS(PROCESS(root)) ->
       newRoot(PROCESS(root), head);
       queuedBy[head] = root;
       again[root] = head;
       head = 0;
       turn(root)
    :: lost[root] || !LOCALS(PROCESS(root)) ->
       current[PROCESS(root)] = (lost[root] -> current[PROCESS(root)] : NONE);
       turn(root)
    fi;
    if
    :: state[root] == TURNING -> passes[PROCESS(root)] = (lost[root] -> passes[PROCESS(root)] : 0)
    :: else
    fi;
    root = 0
  }
}

/* A wait limit, an abort signal, close(): the last task that waits withdraws the entry. */
inline abandon() {
  atomic {
    if
    :: faults > 0 && task[0] == LOCAL -> t = 0
    :: faults > 0 && task[1] == LOCAL -> t = 1
    :: faults > 0 && task[2] == LOCAL -> t = 2
    :: faults > 0 && task[3] == LOCAL -> t = 3
    fi;
    faults--;
    task[t] = GONE;
    arrived[t] = 0;
    aheadOf[t] = NONE;
    head = current[OWNER(t)];
    if
#ifndef BUG_ABORT_WITHDRAWS_ALL
    :: head != NONE && WANTS(head) && !LOCALS(OWNER(t)) ->
#else
    :: head != NONE && WANTS(head) ->
#endif
       current[OWNER(t)] = NONE;
       if
#ifndef BUG_WITHDRAWN_TOO_EARLY
       :: queuedBy[head] != NONE -> withdraw(head)
       :: else -> turn(head)
#else
       :: true -> queuedBy[head] = NONE; turn(head)
#endif
       fi
    :: else
    fi;
    head = 0;
    t = 0
  }
}

#define BELIEVING(r) :: faults > 0 && user[r] != NO_TASK && BELIEVES(r) -> root = r
/* The deadline of a lease passes: renewals failed, or the process was paused. */
inline lapse() {
  atomic {
    if
    EVERY(BELIEVING)
    fi;
    faults--;
    lapsed[root] = true;
    root = 0
  }
}

#define UNNOTICED(r) :: lapsed[r] && !lost[r] && user[r] != NO_TASK -> root = r
inline notice() {
  atomic {
    if
    EVERY(UNNOTICED)
    fi;
    lose(root);
    root = 0
  }
}

inline repeatOne(r) {
  if
  :: state[r] == ASKING && queuedBy[r] == NONE -> ask(r)
  :: state[r] == TURNING -> turn(r)
#ifndef BUG_WITHDRAWN_ONCE
  :: state[r] == UNSETTLED -> withdraw(r)
#endif
#ifndef BUG_NO_POLLING
  :: state[r] == WAITING || state[r] == POLLING ->
     state[r] = POLLING;
     request[PROCESS(r)]!POLL,r,0,0,NONE
#endif
  :: else
  fi
}

#ifdef BUG_NO_POLLING
#define DUE(r) (state[r] == ASKING || state[r] == TURNING)
#else
#define DUE(r) (state[r] == TURNING || WANTS(r))
#endif
#define ANY_DUE (COUNT(DUE) > 0)

inline repeatAll() {
  i = 0;
  do
  :: i < ROOTS -> repeatOne(i); i++
  :: else -> break
  od;
  i = 0
}

#define LEFT_BEHIND(r) ((holder == r || queued[r]) && !WANTS(r) && state[r] != HELD && \
  !dead[PROCESS(r)])

/* Time passes when nothing else can happen; once also while a late copy is still under way. */
inline deadlines() {
  atomic {
    timeout && ANY_DUE ->
#ifdef MUTE
    best = COUNT(LEFT_BEHIND);
    assert(!repeated || best == 0);
    best = 0;
    repeated = muted;
#endif
    repeatAll()
  }
}

inline deadlinesBeforeLate() {
  atomic {
    nempty(late) && !overslept && QUIET && ANY_DUE && !MAY_EXPIRE &&
    NO_TASK_IS(WORKING) && NO_TASK_IS(NEW) ->
    overslept = true;
    repeatAll()
  }
}

inline loseRequest(p) {
  d_step { faults > 0 && nempty(request[p]) -> request[p]?op,id,fence,used,next; faults--;
    clearMessage() }
}

inline loseReply(p) {
  d_step { faults > 0 && nempty(reply[p]) -> reply[p]?op,id,answer,fence,used; faults--;
    clearMessage() }
}

inline losePush(p) {
  d_step { faults > 0 && nempty(push[p]) -> push[p]?op,id,fence,used; faults--; clearMessage() }
}

#ifdef MUTE
inline mute() {
  d_step { !muted -> muted = true }
}
#endif

/* A copy of a request stays under way for as long as it likes. Polls change nothing. */
inline copyRequest(p) {
  d_step {
    faults > 0 && (request[p]?[ACQUIRE,_,_,_,_] || request[p]?[TURN,_,_,_,_]) && empty(late) ->
    faults--;
    request[p]?<op,id,fence,used,next>;
    late!op,id,fence,used,next;
    mayBeDuplicated[id] = mayBeDuplicated[id] || op == ACQUIRE;
    copied = (op == ACQUIRE -> id : NONE);
    clearMessage()
  }
}

/* SIGKILL: requests in flight may still arrive. */
inline crash(p) {
  d_step {
    faults > 0 && !dead[p] && MAY_DIE(p) ->
    faults--;
    dead[p] = true;
    i = FIRST(p);
    do
    :: i < END(p) ->
       finish(i);
       queuedBy[i] = NONE;
       user[i] = NO_TASK;
       i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < TASKS ->
       if
       :: OWNER(i) == p -> task[i] = GONE; arrived[i] = 0; aheadOf[i] = NONE
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    current[p] = NONE;
    passes[p] = 0;
    do
    :: nempty(push[p]) -> push[p]?op,id,fence,used
    :: empty(push[p]) -> break
    od;
    do
    :: nempty(reply[p]) -> reply[p]?op,id,answer,fence,used
    :: empty(reply[p]) -> break
    od;
    clearMessage()
  }
}

/* A lease ends in the store that no process believes in (I7). */
inline expire() {
  d_step {
    holder != NONE && !BELIEVES(holder) && (MAY_EXPIRE || faults > 0) ->
    if
    :: MAY_EXPIRE
    :: else -> faults--
    fi;
    endLease()
  }
}

inline breakRoot(r) {
  broken[r] = BELIEVES(r);
  endedGrant[r] = (WANTS(r) -> heldFence : 0)
}

inline force() {
  d_step {
    holder != NONE && faults > 0 ->
    faults--;
    breakRoot(holder);
    if
    :: !dead[PROCESS(holder)] -> push[PROCESS(holder)]!REVOKE,holder,0,0
    :: else
    fi;
    endLease();
    serve(NONE)
  }
}

#ifdef CLOCK
/* DEL: the store loses the record, and with it the last fence. */
inline delete() {
  d_step {
    faults > 0 ->
    faults--;
    if
    :: holder != NONE -> breakRoot(holder); endLease()
    :: else
    fi;
    lastFence = 0;
    i = 0;
    do
    :: i < ROOTS -> dequeue(i); i++
    :: else -> break
    od;
    i = 0
  }
}
#endif

/* I6: nothing remains of roots that are over */
inline end() {
  d_step {
    NO_TASK_IS(NEW) && NO_TASK_IS(LOCAL) && NO_TASK_IS(WORKING) && COUNT(IS_OVER) == ROOTS &&
    QUIET && empty(late) ->
    assert(holder == NONE || dead[PROCESS(holder)]);
    i = 0;
    do
    :: i < ROOTS -> assert(dead[PROCESS(i)] || !queued[i]); i++
    :: else -> break
    od
  }
}

active proctype world() {
  mtype op, answer;
  byte id, fence, used, next, p, root, t;
#ifdef FEW_TASKS
  task[2] = GONE;
#endif
  do
  :: arrive()
  :: serveRequest()
  :: receiveReply()
  :: receivePush()
  :: release()
  :: abandon()
  :: crash(0)
  :: crash(1)
#ifndef CALM
  :: expire()
  :: force()
  :: lapse()
  :: notice()
  :: loseRequest(0)
  :: loseRequest(1)
  :: loseReply(0)
  :: loseReply(1)
  :: losePush(0)
  :: losePush(1)
  :: copyRequest(0)
  :: copyRequest(1)
  :: deadlines()
  :: deadlinesBeforeLate()
#endif
#ifdef CLOCK
  :: delete()
#endif
#ifdef MUTE
  :: mute()
#endif
  :: end() -> break
  od
}
