/*
 * The two clocks of a lease: a holder never considers its lease held for longer than the store does
 * (I7), with any delay of requests, replies and pushes, and with a slower clock in the holder.
 *
 * One acquisition waits, is granted by a push or a reply, and is renewed. Time is discrete. With
 * each tick, the store's clock advances; the holder's clock advances too or, at most once in DRIFT
 * ticks, does not. (A faster clock only ends the lease earlier.) A lease is TTL ticks long. Every
 * duration of x ticks is reduced by a margin of x / DRIFT, rounded up, like `drift()` in
 * lease/grip.ts in milliseconds. Each moment is stored as its age, so that runs have no time limit.
 *
 * Checked in every reachable state: a lease that the holder considers held is held in the store.
 * BUG_... plants a mistake; `tools/model.mjs` lists the mistakes and checks that each is found.
 */
#ifndef TTL
#define TTL 4
#endif
#ifndef DRIFT
#define DRIFT 5
#endif
#define LIMIT 4   /* requestTimeout: later replies are ignored */
#define WAIT 7    /* unreachableAfter: an acquisition without a reply for longer ends */
#define MARGIN(x) (((x) + DRIFT - 1) / DRIFT)

mtype = { FREE, SENT, ANSWERED };           /* requests */
mtype = { WAITING, HELD, ENDED };           /* the holder */

/* The store: remaining ticks of the lease, 0 if it has ended; and whether there is a waiter. */
byte remaining;
bool queued;

/* The holder's process: remaining ticks of the lease by its own clock. */
mtype state = WAITING;
byte localRemaining;
byte sinceSlow = DRIFT;  /* ticks since its clock did not advance */
/* Waiter.sentAt, .storeTime: a pair of times that relates the two clocks, as ages in ticks. */
bool related;
byte relatedLocal, relatedStore;

/* Two requests in flight: a reply may arrive after the reply to a later request. */
mtype request[2] = FREE;
byte sentLocal[2];       /* local ticks since it was sent */
byte answeredStore[2];   /* store ticks since it was answered */
byte answeredRemaining[2];

/* One push in flight. */
bool pushed;
byte pushedStore, pushedRemaining;

short until, since;      /* temporary values of one step */
byte r;

/* I7. Every step that could make it false calls this check. */
inline check() {
  assert(!(state == HELD && localRemaining > 0 && remaining == 0))
}

inline forget(i) {
  request[i] = FREE;
  sentLocal[i] = 0;
  answeredStore[i] = 0;
  answeredRemaining[i] = 0
}

inline noPush() {
  pushed = false;
  pushedStore = 0;
  pushedRemaining = 0
}

/* clock.ts, and everything that ends with time: Deadlines, Waiter, keeper.ts */
inline tick(advance) {
  if
  :: remaining > 0 -> remaining--
  :: else
  fi;
  if
  :: advance && localRemaining > 0 -> localRemaining--
  :: else
  fi;
  if
  :: state == HELD && localRemaining == 0 -> state = ENDED
  :: else
  fi;
  if
  :: related -> relatedLocal = relatedLocal + advance; relatedStore++
  :: else
  fi;
  r = 0;
  do
  :: r < 2 ->
     if
     :: request[r] == FREE
     :: else ->
        sentLocal[r] = sentLocal[r] + advance;
        if
        :: request[r] == ANSWERED -> answeredStore[r]++
        :: else
        fi;
        if
        :: sentLocal[r] > LIMIT || answeredStore[r] > LIMIT + 2 -> forget(r)
        :: else
        fi
     fi;
     r++
  :: else -> break
  od;
  r = 0;
  if
  :: pushed -> pushedStore++
  :: else
  fi;
  if
  :: state == WAITING && relatedStore > WAIT -> state = ENDED
  :: else
  fi;
  if
  :: state != WAITING || pushedStore > WAIT -> noPush()
  :: else
  fi;
  if
  :: state != WAITING -> related = false; relatedLocal = 0; relatedStore = 0; queued = false
  :: else
  fi;
  check()
}

inline bothTick() {
  d_step { state != ENDED ->
    tick(1);
    if
    :: sinceSlow < DRIFT -> sinceSlow++
    :: else
    fi
  }
}

inline slowTick() {
  d_step { state != ENDED && sinceSlow == DRIFT -> tick(0); sinceSlow = 1 }
}

/* asker.ts, ask() and poll(); keeper.ts, renew() */
inline send(i) {
  d_step { request[i] == FREE && state != ENDED -> request[i] = SENT }
}

/* engine.ts, acquire(), poll(), renew(): never shortens, never revives */
inline answer(i) {
  d_step {
    request[i] == SENT ->
    request[i] = ANSWERED;
    if
    :: remaining > 0 ->
       if
       :: state == HELD -> remaining = TTL
       :: else
       fi;
       answeredRemaining[i] = remaining
    :: remaining == 0 && state == WAITING -> queued = true
    :: else
    fi
  }
}

/* Resource.grant to a new acquisition, reported by its reply */
inline grantNow(i) {
  d_step {
    request[i] == SENT && state == WAITING && !queued && remaining == 0 ->
    request[i] = ANSWERED;
    remaining = TTL;
    answeredRemaining[i] = TTL
  }
}

/* serve.ts: a waiter is granted its lease, reported by a push */
inline serve() {
  d_step {
    queued && remaining == 0 && !pushed && state == WAITING ->
    queued = false;
    remaining = TTL;
    pushed = true;
    pushedRemaining = TTL
  }
}

/* Accepts a grant. `until` is the remaining time in local ticks. */
inline acceptGrant() {
  if
  :: until > 0 ->
     localRemaining = until;
     state = HELD;
     related = false; relatedLocal = 0; relatedStore = 0;
     noPush();
     queued = false
  :: else                                     /* requests again */
  fi
}

/* room.ts, answered() and #granted(); keeper.ts, Grip.confirm() */
inline receiveReply(i) {
  d_step {
    request[i] == ANSWERED ->
#ifdef BUG_FROM_ANSWER
    sentLocal[i] = 0;
#endif
#ifdef BUG_NO_MARGIN
    until = answeredRemaining[i] - sentLocal[i];
#else
    until = answeredRemaining[i] - sentLocal[i] - MARGIN(answeredRemaining[i]);
#endif
    if
    :: state == WAITING ->
       related = true;
       relatedLocal = sentLocal[i];
       relatedStore = answeredStore[i];
       if
       :: answeredRemaining[i] > 0 -> acceptGrant()
       :: else
       fi
    :: state == HELD && answeredRemaining[i] > 0 && until > localRemaining -> localRemaining = until
    :: else
    fi;
    forget(i);
    until = 0;
    check()
  }
}

/* room.ts, #pushed(): the lease starts at the store's grant time, converted to the local clock */
inline receivePush() {
  d_step {
    pushed ->
    if
    :: state == WAITING && related && relatedStore >= pushedStore ->
       /* Waiter.localTime, as an age in local ticks; not after the receipt */
       since = relatedLocal - (relatedStore - pushedStore);
#ifdef BUG_PUSH_FROM_RECEIPT
       since = 0;
#endif
       if
       :: since < 0 -> since = 0
       :: else
       fi;
#ifdef BUG_WAIT_NOT_COUNTED
       until = pushedRemaining - since - MARGIN(pushedRemaining);
#else
       until = pushedRemaining - since - MARGIN(pushedRemaining + relatedStore - pushedStore);
#endif
       acceptGrant()
    :: else
    fi;
    noPush();
    until = 0;
    since = 0;
    check()
  }
}

/*
 * A root (roots.pml) goes on to another task of the process. The deadline of the root stays; for
 * the store, which is not told, nothing has changed.
 */
inline handOff() {
  d_step {
    state == HELD && localRemaining > 0 ->
#ifdef BUG_HAND_OFF_RENEWS
    localRemaining = TTL - MARGIN(TTL);
#endif
    check()
  }
}

inline loseMessage(i) {
  d_step { request[i] != FREE -> forget(i) }
}

active proctype world() {
  do
  :: state == ENDED -> break
  :: bothTick()
  :: slowTick()
  :: send(0)
  :: send(1)
  :: answer(0)
  :: answer(1)
  :: grantNow(0)
  :: grantNow(1)
  :: serve()
  :: receiveReply(0)
  :: receiveReply(1)
  :: receivePush()
  :: handOff()
  :: loseMessage(0)
  :: loseMessage(1)
  :: d_step { pushed -> noPush() }
  od
}
