/*
 * Fair tasks: a process hands its lease on to the task whose entry is directly behind its own in
 * the queue of the store (decision 26).
 *
 * Tasks 0, 1 and 2 are in one process, task 3 is in another. Each task asks in a step of its own,
 * so each has an entry; a group of tasks is one entry here. The store queues an entry and names the
 * id before it (`ahead`): that of another entry, or of the lease. When a task is done, its process
 * may hand the lease on to a task whose `ahead` is in its run: the root, and the entries that it
 * has served so far. It withdraws that entry. Otherwise it releases the root.
 *
 * Tasks may be aborted while they wait. Up to FAULTS times a reply or a push is lost, or a
 * withdrawal arrives at any later time. roots.pml has the other faults of roots: copies of
 * requests, expiry, crashes.
 *
 * Checked in every reachable state: at most one task holds (I1), and a task that is served is the
 * first of all that wait, in the order in which their requests arrived at the store (I4). Checked at
 * the end of every run: all tasks are served or aborted (I5), and nothing is left in the store (I6).
 *
 * BUG_... plants a mistake; `tools/model.mjs` lists the mistakes and checks that each is found.
 */
#ifndef FAULTS
#define FAULTS 1
#endif
#define TASKS 4
#define NONE 4
#define UNKNOWN 5
#define OWNER(t) (t == 3)
#define FIRST(p) (p * 3)
#define END(p) (3 + p)

mtype = { ACQUIRE, RELEASE };
mtype = { GRANTED, QUEUED };
mtype = { NEW, ASKED, WAITING, HELD, DONE, ABORTED };

chan request[2] = [8] of { mtype, byte };
chan reply[2] = [8] of { mtype, byte, byte };   /* standing, id, ahead */
chan push[2] = [4] of { byte };
chan late = [1] of { byte };                    /* a withdrawal that arrives at any time */

/* ---- the store ---- */
byte holder = NONE;
byte place[TASKS];              /* the order of arrival; 0: not arrived */
bool queued[TASKS];
byte time = 0;

/* ---- the processes ---- */
mtype task[TASKS] = NEW;
byte ahead[TASKS] = UNKNOWN;
bool asking[TASKS];             /* a request for it may still arrive at the store */
byte root[2] = NONE;
byte serves[2];                 /* a bit for each id that the root serves */
byte faults = FAULTS;
byte holding = 0;

#define SERVED_BY(p, t) (t < TASKS && ((serves[p] >> t) & 1))
#define WAITS(t) (task[t] == ASKED || task[t] == WAITING)
#define QUIET(p) (empty(request[p]) && empty(reply[p]) && empty(push[p]))
#define OVER(t) (task[t] == DONE || task[t] == ABORTED)

/* The first entry of the queue becomes the holder, and its process is told. */
inline serve() {
  if
  :: holder == NONE ->
    best = NONE;
    for (i : 0 .. TASKS - 1) {
      if
      :: queued[i] && (best == NONE || place[i] < place[best]) -> best = i
      :: else
      fi
    }
    if
    :: best != NONE ->
      queued[best] = false;
      holder = best;
      push[OWNER(best)]!best
    :: else
    fi
  :: else
  fi
}

/* The id of the last entry, or of the holder. */
inline last() {
  best = holder;
  for (i : 0 .. TASKS - 1) {
    if
    :: queued[i] && (!queued[best % TASKS] || best == holder || place[i] > place[best]) -> best = i
    :: else
    fi
  }
}

inline release(t) {
  if
  :: holder == t -> holder = NONE
  :: else -> queued[t] = false
  fi;
  serve()
}

active proctype store() {
  byte t, i, best;
  byte p;
end:
  do
  :: atomic {
      if
      :: request[0]?[ACQUIRE, t] -> p = 0; request[0]?ACQUIRE, t
      :: request[1]?[ACQUIRE, t] -> p = 1; request[1]?ACQUIRE, t
      fi;
      if
      :: holder == t -> reply[p]!GRANTED, t, UNKNOWN
      :: queued[t] -> reply[p]!QUEUED, t, UNKNOWN
      :: holder != t && !queued[t] ->
        time++;
        place[t] = time;
        last();
        if
        :: best == NONE -> holder = t; reply[p]!GRANTED, t, UNKNOWN
        :: else -> queued[t] = true; reply[p]!QUEUED, t, best
        fi
      fi;
      i = 0; best = 0; t = 0; p = 0
    }
  :: atomic { request[0]?RELEASE, t -> release(t); i = 0; best = 0; t = 0 }
  :: atomic { request[1]?RELEASE, t -> release(t); i = 0; best = 0; t = 0 }
  :: atomic { late?t -> release(t); i = 0; best = 0; t = 0 }
  /* a lease that no process serves ends at its expiry */
  :: atomic { holder != NONE && OVER(holder % TASKS) && root[OWNER(holder)] != holder &&
      QUIET(0) && QUIET(1) && empty(late) ->
      t = holder;
      release(t);
      i = 0; best = 0; t = 0
    }
  od
}

/* A task gets the lease. */
inline hold(t) {
  for (i : 0 .. TASKS - 1) {
    assert(i == t || !WAITS(i) || place[i] == 0 || place[i] > place[t])
  }
  assert(holding == 0);
  holding = 1;
  task[t] = HELD
}

inline granted(t) {
  if
  :: WAITS(t) -> root[me] = t; serves[me] = 1 << t; hold(t)
  :: OVER(t) && root[me] != t -> request[me]!RELEASE, t
  :: else
  fi
}

inline withdraw(t) {
  if
  :: request[me]!RELEASE, t
  :: faults > 0 && empty(late) -> faults--; late!t
  fi
}

/*
 * No request for the entry is under way. Otherwise it could be queued again after its withdrawal,
 * and be ahead of a later entry.
 */
#ifdef BUG_ASKING
#define SURE(t) true
#else
#define SURE(t) (!asking[t])
#endif

inline ask(t) {
  task[t] = ASKED;
  asking[t] = true;
  request[me]!ACQUIRE, t
}

inline abort(t) {
  task[t] = ABORTED;
  for (i : FIRST(me) .. END(me) - 1) {
    if
#ifdef BUG_FORGOTTEN_CHAIN
    :: ahead[i] == t -> ahead[i] = root[me]
#else
    :: ahead[i] == t -> ahead[i] = ahead[t]
#endif
    :: else
    fi
  }
  withdraw(t);
  i = 0
}

/* The holder is done. */
inline done() {
  for (i : FIRST(me) .. END(me) - 1) {
    if
    :: task[i] == HELD -> task[i] = DONE
    :: else
    fi
  }
  holding = 0;
  next = NONE;
  for (i : FIRST(me) .. END(me) - 1) {
    if
#ifdef BUG_ANY_TASK
    :: task[i] == WAITING -> next = i
#else
    :: task[i] == WAITING && SERVED_BY(me, ahead[i]) && SURE(i) -> next = i
#endif
    :: else
    fi
  }
  if
  :: next != NONE ->
    serves[me] = serves[me] | (1 << next);
    hold(next);
    withdraw(next)
  /* also if there is a next one: the hand-offs may be used up */
  :: request[me]!RELEASE, root[me];
    root[me] = NONE;
    serves[me] = 0
  fi;
  i = 0;
  next = 0
}

#ifdef BUG_OPEN_GROUP
/* A new task joins an entry that has asked. */
#define JOIN(t) \
  :: atomic { task[t] == NEW && t > FIRST(me) && WAITS((t - 1)) && place[t - 1] != 0 -> \
      task[t] = WAITING; ahead[t] = t - 1; time++; place[t] = time }
#else
#define JOIN(t)
#endif
#define MINE(t) (OWNER(t) == me)
#ifdef NO_ABORTS
#define ABORT(t)
#else
#define ABORT(t) :: atomic { MINE(t) && WAITS(t) -> abort(t) }
#endif
/* What a process may do for a task: ask, poll, abort. */
#define EACH(t) \
  :: atomic { MINE(t) && task[t] == NEW -> ask(t) } \
  :: atomic { MINE(t) && QUIET(me) && WAITS(t) -> asking[t] = true; request[me]!ACQUIRE, t } \
  ABORT(t) \
  JOIN(t)

proctype process(byte me) {
  byte t, a, i, next;
end:
  do
  EACH(0)
  EACH(1)
  EACH(2)
  EACH(3)
  :: atomic { root[me] != NONE -> done() }
  :: atomic { reply[me]?GRANTED, t, a -> asking[t] = false; granted(t); t = 0; a = 0; i = 0 }
  :: atomic { reply[me]?QUEUED, t, a ->
      asking[t] = false;
      if
      :: WAITS(t) ->
        task[t] = WAITING;
        if
        :: a != UNKNOWN -> ahead[t] = a
        :: else
        fi
      :: else
      fi;
      t = 0; a = 0
    }
  :: atomic { push[me]?t -> granted(t); t = 0; i = 0 }
  :: atomic { faults > 0 && nempty(reply[me]) -> faults--; reply[me]?_, _, _ }
  :: atomic { faults > 0 && nempty(push[me]) -> faults--; push[me]?_ }
  od
}

#define ENDED(t) (OVER(t) && !queued[t])

init {
  atomic { run process(0); run process(1) }
  timeout;
  assert(ENDED(0) && ENDED(1) && ENDED(2) && ENDED(3) && holder == NONE)
}
