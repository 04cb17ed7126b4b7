/*
 * The register over several servers: CASPaxos with servers as acceptors and clients as proposers.
 *
 * Three acceptors, of which one may be lost at a time; two proposers that acquire and release one
 * mutex. Each change takes a round of prepare and a round of accept; a second change of the same
 * proposer may skip the first round. Messages are lost, and an accept may arrive until LIFE ticks
 * after it was sent. A proposer may stop at any moment, and its change may be completed by the
 * other one. A change that leaves the lock to the other proposer hands the next ballot over: the
 * other one uses it once a majority has published it. Up to FAULTS restarts lose the memory of an acceptor. The records of idle keys expire
 * at different times on different servers. The clock of acceptor 2 is SKEW ticks ahead.
 *
 * Checked in every reachable state:
 * - I1: at most one proposer believes that it holds the lock;
 * - I2: a grant has a greater fence than every grant that was confirmed before it was requested;
 * - I8: a lease whose release was confirmed never comes back.
 *
 * A ballot has one value, so values are stored once for each ballot. BUG_... plants a mistake;
 * `tools/model.mjs` lists the mistakes and checks that each is found.
 */
#ifndef STARTS
#define STARTS 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef END
#define END 3       /* ticks of a run */
#endif

#define N 3
#define TTL 2       /* ticks of a lease */
#define RETENTION 1 /* ticks after which an idle state may be forgotten */
#ifndef LIFE
#define LIFE 0      /* ticks after which a message no longer arrives */
#endif
#define SKEW 3      /* of the clock of acceptor 2 */
#define MARGIN 1    /* of the expiry of records: a server may forget a record this much earlier */
/* the longest time for which a state must not be forgotten */
#define GUARD (TTL + RETENTION + LIFE)

#define BALLOTS (2 * STARTS + 1)
#define NONE 2

#ifdef BUG_HALF
#define MAJORITY 1
#else
#define MAJORITY 2
#endif
#define COUNT(m) ((m & 1) + ((m >> 1) & 1) + ((m >> 2) & 1))
#define MAX(x, y) (x > y -> x : y)
#define CLOCK(i) (i == 2 -> now + SKEW : now)

byte now;
byte faults = FAULTS;
byte nextBallot = 1;

/* The values, by ballot: engine state, and what the register adds. */
byte vFence[BALLOTS], vHolder[BALLOTS], vWaiter[BALLOTS], vEnds[BALLOTS], vForget[BALLOTS];
byte vKeep[BALLOTS], vTime[BALLOTS];
byte sentAt[BALLOTS];
bool sent[BALLOTS], vPushed[BALLOTS];
bool vRevives[BALLOTS];  /* the value was made from a lease whose release had been confirmed */
bool vHands[BALLOTS];    /* the next ballot is handed over to the holder, and not yet taken */
byte published[BALLOTS]; /* the acceptors that published its grant, or its next ballot */

/* The acceptors: acceptor.ts. Ballot 0 means none. */
byte promised[N], accepted[N], promisedUntil[N], votesFrom[N];

/* The proposers: quorum-register.ts */
mtype = { IDLE, PREPARING, ACCEPTING, CACHED };
mtype phase[2] = IDLE;
byte ballot[2];
byte acks[2], best[2], low[2], began[2];
bool releasing[2];
byte startFence[2]; /* of a release: its fence; else the last confirmed one */
/* belief in a lease, until its end; and the greatest fence whose release was confirmed */
byte held[2], heldEnds[2], released[2];
byte confirmedFence;

byte base, t, i;        /* temporary values of one step */

/* The lease starts before the request was sent, so it ends with the store's time, not later. */
#define BELIEVES(p) (held[p] != 0 && now < heldEnds[p])

inline believe(p, f, e) {
  if
  :: now < e ->
     assert(!BELIEVES(1 - p));                     /* I1 */
     held[p] = f;
     heldEnds[p] = e
  :: else
  fi
}

/* A record of a server expires; it takes the promise with it. */
inline expire(i) {
  d_step {
    accepted[i] != 0 && now + MARGIN >= vKeep[accepted[i]] && now >= promisedUntil[i] ->
    accepted[i] = 0; promised[i] = 0; promisedUntil[i] = 0
  }
}

inline restart(i) {
  d_step {
    faults > 0 ->
    faults--;
    accepted[i] = 0; promised[i] = 0; promisedUntil[i] = 0;
#ifndef BUG_NO_GUARD
    votesFrom[i] = now + GUARD
#endif
  }
}

inline idle(p) {
  phase[p] = IDLE; ballot[p] = 0; acks[p] = 0; best[p] = 0; low[p] = 0; began[p] = 0;
  startFence[p] = 0; releasing[p] = false
}

/* Removes values that matter no more, to reduce the number of states. */
inline tick() {
  d_step {
    now < END ->
    now++;
    i = 0;
    do
    :: i < N ->
       if
       :: promisedUntil[i] <= now -> promisedUntil[i] = 0
       :: else
       fi;
       if
       :: votesFrom[i] <= now -> votesFrom[i] = 0
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 1;
    do
    :: i < BALLOTS ->
       if
       :: now > sentAt[i] + LIFE -> sent[i] = false; sentAt[i] = 0
       :: else
       fi;
       if
       :: now >= vEnds[i] -> published[i] = 0; vPushed[i] = false; vHands[i] = false
       :: else
       fi;
       if
       :: !sent[i] && accepted[0] != i && accepted[1] != i && accepted[2] != i &&
          ballot[0] != i && ballot[1] != i ->
          published[i] = 0; vPushed[i] = false;
          vFence[i] = 0; vHolder[i] = 0; vWaiter[i] = 0; vEnds[i] = 0; vForget[i] = 0;
          vKeep[i] = 0; vTime[i] = 0; vRevives[i] = false; vHands[i] = false
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < 2 ->
       if
       :: held[i] != 0 && heldEnds[i] <= now -> held[i] = 0; heldEnds[i] = 0
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* Begins a change: a release if it holds, else an acquisition. */
inline start(p) {
  d_step {
    phase[p] == IDLE && nextBallot + 1 < BALLOTS ->
    ballot[p] = nextBallot;
    nextBallot = nextBallot + 2;
    begin(p);
    phase[p] = PREPARING
  }
}

inline begin(p) {
  releasing[p] = (held[p] != 0);
  startFence[p] = (releasing[p] -> held[p] : confirmedFence);
  /* the holder stops before its release is sent */
  held[p] = 0; heldEnds[p] = 0;
  acks[p] = 0; best[p] = 0; began[p] = now;
  low[p] = 255
}

#define VOTES(i) (now >= votesFrom[i])

inline prepare(p, i) {
  d_step {
    phase[p] == PREPARING && VOTES(i) && promised[i] <= ballot[p] && !(acks[p] & (1 << i)) &&
      now <= began[p] + LIFE ->
    promised[i] = ballot[p];
    promisedUntil[i] = MAX(promisedUntil[i], now + LIFE + 1);
    acks[p] = acks[p] | (1 << i);
    best[p] = MAX(best[p], accepted[i]);
#ifdef BUG_ONE_CLOCK
    low[p] = CLOCK(i)
#else
    /* of two of three clocks, the lower one is not ahead of the median */
    if
    :: CLOCK(i) < low[p] -> low[p] = CLOCK(i)
    :: else
    fi
#endif
  }
}

/* The ballot follows the lock. The second ballot of a read is not handed over any more. */
#define HANDS(p, b) (b % 2 == 1 && vHolder[b] == 1 - p)

/* Applies the engine to the state of ballot `base` at time `t`, as the value of ballot[p]. */
inline change(p) {
  t = MAX(low[p], vTime[base]);
  /* a state that may be forgotten counts as forgotten */
  if
  :: base != 0 && vForget[base] <= t -> base = 0
  :: else
  fi;
  vRevives[ballot[p]] = (base != 0 && vHolder[base] != NONE && vEnds[base] > t &&
    vFence[base] <= released[vHolder[base]]);
  vTime[ballot[p]] = t;
  vFence[ballot[p]] = vFence[base];
  vHolder[ballot[p]] = (base == 0 -> NONE : vHolder[base]);
  vWaiter[ballot[p]] = (base == 0 -> NONE : vWaiter[base]);
  vEnds[ballot[p]] = vEnds[base];
  if
  :: vHolder[ballot[p]] != NONE && vEnds[ballot[p]] <= t -> vHolder[ballot[p]] = NONE
  :: releasing[p] && vHolder[ballot[p]] == p -> vHolder[ballot[p]] = NONE
  :: else
  fi;
  /* serve(): the waiter comes first */
  if
  :: vHolder[ballot[p]] == NONE && vWaiter[ballot[p]] != NONE ->
     vPushed[ballot[p]] = (vWaiter[base] != p);
     grant(p, vWaiter[base]); vWaiter[ballot[p]] = NONE
  :: else
  fi;
  if
  :: !releasing[p] && vHolder[ballot[p]] == NONE -> grant(p, p)
  :: !releasing[p] && vHolder[ballot[p]] == 1 - p -> vWaiter[ballot[p]] = p
  :: else
  fi;
  vForget[ballot[p]] =
    (vHolder[ballot[p]] == NONE -> t + RETENTION : vEnds[ballot[p]] + RETENTION);
#ifdef BUG_KEEP_SHRINKS
  vKeep[ballot[p]] = vForget[ballot[p]];
#else
  /* an older state, on a server that missed this one, expires first */
  vKeep[ballot[p]] = MAX(vKeep[base], vForget[ballot[p]]);
#endif
  vHands[ballot[p]] = HANDS(p, ballot[p]);
  sent[ballot[p]] = true;
  sentAt[ballot[p]] = now;
  acks[p] = 0;
  phase[p] = ACCEPTING
}

inline grant(p, to) {
  vHolder[ballot[p]] = to;
  vFence[ballot[p]] = MAX(vFence[base] + 1, 8 * t + 1);
  vEnds[ballot[p]] = t + TTL
}

/* A majority has promised. */
inline propose(p) {
  d_step {
    phase[p] == PREPARING && COUNT(acks[p]) >= MAJORITY ->
    base = best[p];
    change(p);
    base = 0; t = 0
  }
}

/* Without SPLIT, a majority promises in one step. */
#define CAN(p, i) (VOTES(i) && promised[i] <= ballot[p])
inline read(p) {
  if
  :: CAN(p, 0) && CAN(p, 1) -> prepare(p, 0); prepare(p, 1); propose(p)
  :: CAN(p, 0) && CAN(p, 2) -> prepare(p, 0); prepare(p, 2); propose(p)
  :: CAN(p, 1) && CAN(p, 2) -> prepare(p, 1); prepare(p, 2); propose(p)
#ifdef BUG_HALF
  :: CAN(p, 0) -> prepare(p, 0); propose(p)
#endif
  :: else -> idle(p)
  fi
}

/* The second change needs no promises: the acceptors gave them when they accepted the first one. */
inline proposeCached(p) {
  d_step {
    phase[p] == CACHED && now <= began[p] + LIFE ->
    base = ballot[p];
    t = low[p];
    ballot[p] = ballot[p] + 1;
    begin(p);
    low[p] = t;
    change(p);
    base = 0; t = 0
  }
}

/* An accept arrives, also after its proposer has stopped. */
inline accept(b, i) {
  d_step {
    sent[b] && now <= sentAt[b] + LIFE && VOTES(i) && accepted[i] != b &&
#ifdef BUG_NO_PROMISE
      accepted[i] < b
#else
      promised[i] <= b
#endif
      ->
    accepted[i] = b;
    /* promises the next ballot to the same proposer */
    promised[i] = MAX(promised[i], (b % 2 == 1 -> b + 1 : b));
    promisedUntil[i] = MAX(promisedUntil[i], now + LIFE + 1);
    if
    :: vPushed[b] || vHands[b] -> published[b] = published[b] | (1 << i)
    :: else
    fi;
    if
    :: phase[0] == ACCEPTING && ballot[0] == b -> acks[0] = acks[0] | (1 << i)
    :: phase[1] == ACCEPTING && ballot[1] == b -> acks[1] = acks[1] | (1 << i)
    :: else
    fi
  }
}

/* A majority has accepted: the change is made. */
inline confirm(p) {
  d_step {
    phase[p] == ACCEPTING && COUNT(acks[p]) >= MAJORITY ->
    t = ballot[p];
    assert(!vRevives[t]);                             /* I8 */
    if
    :: releasing[p] ->
       if
       :: vHolder[t] != p -> released[p] = startFence[p]
       :: else
       fi
    :: !releasing[p] && vHolder[t] == p ->
       /* I2; a repeated request finds its own grant, and a late reply may find an ended lease */
       assert(vFence[t] > startFence[p] || vFence[t] == confirmedFence || now >= vEnds[t]);
       believe(p, vFence[t], vEnds[t]);
       confirmedFence = MAX(confirmedFence, vFence[t])
    :: else
    fi;
    acks[p] = 0;
    began[p] = now;
    if
#ifdef BUG_HAND_TWICE
    :: t % 2 == 1 -> phase[p] = CACHED
#else
    :: t % 2 == 1 && !HANDS(p, t) -> phase[p] = CACHED
#endif
    :: else -> idle(p)
    fi;
    t = 0
  }
}

/* quorum-peers.ts: the holder takes a ballot that was handed over, once */
inline take(p, b) {
  d_step {
    vHands[b] && vHolder[b] == p && phase[p] == IDLE &&
      COUNT(published[b]) >= MAJORITY ->
    vHands[b] = false;
    ballot[p] = b;
    low[p] = vTime[b];
    began[p] = now;
    phase[p] = CACHED
  }
}

/* quorum-channel.ts: a waiter believes in a grant that a majority has published */
inline hear(p, b) {
  d_step {
    vPushed[b] && vHolder[b] == p && (phase[p] == IDLE || phase[p] == CACHED) && held[p] == 0 && now < vEnds[b] &&
      vFence[b] > released[p] && vFence[b] > confirmedFence &&
#ifdef BUG_PUSH_EARLY
      COUNT(published[b]) >= 1
#else
      COUNT(published[b]) >= MAJORITY
#endif
      ->
    believe(p, vFence[b], vEnds[b]);
    confirmedFence = MAX(confirmedFence, vFence[b])
  }
}

/* A round ends without a majority, a process crashes, a kept ballot is dropped. */
inline stop(p) {
  d_step {
    phase[p] == CACHED || (phase[p] != IDLE && faults > 0) ->
    if
    :: phase[p] != CACHED -> faults--
    :: else
    fi;
    idle(p)
  }
}

inline crash(p) {
  d_step { held[p] != 0 && faults > 0 -> faults--; held[p] = 0; heldEnds[p] = 0 }
}

active proctype world() {
  byte b;
  do
  :: now == END -> break
  :: tick()
#ifdef SPLIT
  :: start(0)
  :: start(1)
  :: prepare(0, 0)
  :: prepare(0, 1)
  :: prepare(0, 2)
  :: prepare(1, 0)
  :: prepare(1, 1)
  :: prepare(1, 2)
  :: propose(0)
  :: propose(1)
#else
  :: atomic { start(0); read(0) }
  :: atomic { start(1); read(1) }
#endif
  :: proposeCached(0)
  :: proposeCached(1)
  :: confirm(0)
  :: confirm(1)
  :: atomic {
       select (b : 1 .. BALLOTS - 1);
       if
       :: accept(b, 0)
       :: accept(b, 1)
       :: accept(b, 2)
       :: hear(0, b)
       :: hear(1, b)
       :: take(0, b)
       :: take(1, b)
       :: else
       fi;
       b = 0
     }
  :: stop(0)
  :: stop(1)
  :: crash(0)
  :: crash(1)
  :: restart(0)
  :: restart(1)
  :: restart(2)
  :: expire(0)
  :: expire(1)
  :: expire(2)
  od
}
