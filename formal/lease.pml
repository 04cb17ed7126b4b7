/*
 * The lease's two clocks: a holder never believes in its lease for longer than the store does (I7),
 * however late requests, answers and pushes are, and although its clock may run slower.
 *
 * One acquisition waits, is granted by push or by an answer, and is renewed. Time is discrete: with
 * each tick the store's clock moves on, and the holder's clock does too or, once in DRIFT ticks at
 * most, stands still. (A clock that runs faster only ends beliefs sooner.) A lease is TTL ticks
 * long; whatever is measured over x ticks is taken with a margin of x / DRIFT, rounded up, which
 * is what `drift()` in lease/grip.ts is in milliseconds. Moments are kept as how long ago they
 * were, so that time has no end.
 *
 * Checked in every reachable state: whoever believes is right. BUG_... plants a mistake;
 * `tools/model.mjs` lists which ones, and that each is found.
 */
#ifndef TTL
#define TTL 4
#endif
#ifndef DRIFT
#define DRIFT 5
#endif
#define LIMIT 4   /* requestTimeout: what is answered later is not believed */
#define WAIT 7    /* unreachableAfter: who has heard nothing for longer waits no more */
#define MARGIN(x) (((x) + DRIFT - 1) / DRIFT)

mtype = { FREE, SENT, ANSWERED };           /* requests */
mtype = { WAITING, HELD, OVER };            /* the holder */

/* The store: ticks that the lease still runs, 0 if it has ended; and whether it is wanted. */
byte left;
bool queued;

/* The holder's process: ticks of its clock for which it still believes. */
mtype state = WAITING;
byte belief;
byte sinceSlow = DRIFT;  /* ticks since its clock stood still */
/* Waiter.sentAt, .storeTime: what ties the two clocks, in ticks of either one. */
bool tied;
byte tiedHere, tiedThere;

/* Two requests under way: an answer may come after that to a later request. */
mtype request[2] = FREE;
byte sentHere[2];        /* ticks here since it was sent */
byte toldThere[2];       /* ticks there since it was answered */
byte toldLeft[2];

/* One push under way. */
bool pushed;
byte pushedThere, pushedLeft;

short until, since;      /* for the space of one step */
byte r;

/* I7: whoever believes is right. What could make it false asks. */
inline check() {
  assert(!(state == HELD && belief > 0 && left == 0))
}

inline forget(i) {
  request[i] = FREE;
  sentHere[i] = 0;
  toldThere[i] = 0;
  toldLeft[i] = 0
}

inline noPush() {
  pushed = false;
  pushedThere = 0;
  pushedLeft = 0
}

/* clock.ts; and what ends with time: Deadlines, Waiter, keeper.ts */
inline tick(here) {
  if
  :: left > 0 -> left--
  :: else
  fi;
  if
  :: here && belief > 0 -> belief--
  :: else
  fi;
  if
  :: state == HELD && belief == 0 -> state = OVER
  :: else
  fi;
  if
  :: tied -> tiedHere = tiedHere + here; tiedThere++
  :: else
  fi;
  r = 0;
  do
  :: r < 2 ->
     if
     :: request[r] == FREE
     :: else ->
        sentHere[r] = sentHere[r] + here;
        if
        :: request[r] == ANSWERED -> toldThere[r]++
        :: else
        fi;
        if
        :: sentHere[r] > LIMIT || toldThere[r] > LIMIT + 2 -> forget(r)
        :: else
        fi
     fi;
     r++
  :: else -> break
  od;
  r = 0;
  if
  :: pushed -> pushedThere++
  :: else
  fi;
  if
  :: state == WAITING && tiedThere > WAIT -> state = OVER
  :: else
  fi;
  if
  :: state != WAITING || pushedThere > WAIT -> noPush()
  :: else
  fi;
  if
  :: state != WAITING -> tied = false; tiedHere = 0; tiedThere = 0; queued = false
  :: else
  fi;
  check()
}

inline bothTick() {
  d_step { state != OVER ->
    tick(1);
    if
    :: sinceSlow < DRIFT -> sinceSlow++
    :: else
    fi
  }
}

inline slowTick() {
  d_step { state != OVER && sinceSlow == DRIFT -> tick(0); sinceSlow = 1 }
}

/* asker.ts, ask() and poll(); keeper.ts, renew() */
inline send(i) {
  d_step { request[i] == FREE && state != OVER -> request[i] = SENT }
}

/* engine.ts, acquire(), poll(), renew(): never shortens, never revives */
inline answer(i) {
  d_step {
    request[i] == SENT ->
    request[i] = ANSWERED;
    if
    :: left > 0 ->
       if
       :: state == HELD -> left = TTL
       :: else
       fi;
       toldLeft[i] = left
    :: left == 0 && state == WAITING -> queued = true
    :: else
    fi
  }
}

/* Resource.grant to a newcomer: its answer tells it */
inline grantNow(i) {
  d_step {
    request[i] == SENT && state == WAITING && !queued && left == 0 ->
    request[i] = ANSWERED;
    left = TTL;
    toldLeft[i] = TTL
  }
}

/* serve.ts: a waiter is granted its lease, and told */
inline serve() {
  d_step {
    queued && left == 0 && !pushed && state == WAITING ->
    queued = false;
    left = TTL;
    pushed = true;
    pushedLeft = TTL
  }
}

/* `until` is told as ticks from now here */
inline believe() {
  if
  :: until > 0 ->
     belief = until;
     state = HELD;
     tied = false; tiedHere = 0; tiedThere = 0;
     noPush();
     queued = false
  :: else                                     /* asked again */
  fi
}

/* room.ts, answered() and #granted(); keeper.ts, Grip.confirm() */
inline hear(i) {
  d_step {
    request[i] == ANSWERED ->
#ifdef BUG_FROM_ANSWER
    sentHere[i] = 0;
#endif
#ifdef BUG_NO_MARGIN
    until = toldLeft[i] - sentHere[i];
#else
    until = toldLeft[i] - sentHere[i] - MARGIN(toldLeft[i]);
#endif
    if
    :: state == WAITING ->
       tied = true;
       tiedHere = sentHere[i];
       tiedThere = toldThere[i];
       if
       :: toldLeft[i] > 0 -> believe()
       :: else
       fi
    :: state == HELD && toldLeft[i] > 0 && until > belief -> belief = until
    :: else
    fi;
    forget(i);
    until = 0;
    check()
  }
}

/* room.ts, #pushed(): the lease is counted from when the store granted it, told on our clock */
inline hearPush() {
  d_step {
    pushed ->
    if
    :: state == WAITING && tied && tiedThere >= pushedThere ->
       /* Waiter.localTime, in ticks ago here; no later than its receipt */
       since = tiedHere - (tiedThere - pushedThere);
#ifdef BUG_PUSH_FROM_RECEIPT
       since = 0;
#endif
       if
       :: since < 0 -> since = 0
       :: else
       fi;
#ifdef BUG_WAIT_NOT_COUNTED
       until = pushedLeft - since - MARGIN(pushedLeft);
#else
       until = pushedLeft - since - MARGIN(pushedLeft + tiedThere - pushedThere);
#endif
       believe()
    :: else
    fi;
    noPush();
    until = 0;
    since = 0;
    check()
  }
}

inline loseMessage(i) {
  d_step { request[i] != FREE -> forget(i) }
}

active proctype world() {
  do
  :: state == OVER -> break
  :: bothTick()
  :: slowTick()
  :: send(0)
  :: send(1)
  :: answer(0)
  :: answer(1)
  :: grantNow(0)
  :: grantNow(1)
  :: serve()
  :: hear(0)
  :: hear(1)
  :: hearPush()
  :: loseMessage(0)
  :: loseMessage(1)
  :: d_step { pushed -> noPush() }
  od
}
