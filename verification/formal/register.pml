/*
 * The engine over a register: a text with a version, which is replaced if the version has not
 * changed (`store/register/proposals.ts`).
 *
 * Two processes acquire, renew and release one mutex. A command reads the state, or takes the one
 * that was kept from the last swap, and sends a swap. The swap arrives at any later time, again and
 * again, also after its process has given it up or has died. Its answer may be lost, and that of a
 * repeated one may say that the race was lost although it was won. A command without an answer is
 * repeated, or abandoned for another acquisition. An idle state may be forgotten, and with it the
 * version. With RESTORE the register goes back to an older state once, as from a backup.
 *
 * Checked in every reachable state:
 * - I1: at most one process believes that it holds the lock. After a restoration this holds for
 *   the leases that were granted or renewed after it;
 * - I2: a grant has a greater fence than every grant that was confirmed before it was requested,
 *   unless a restoration brought it back;
 * - I7: a lease in which a process believes is in the register;
 * - I8: a lease whose release was confirmed does not come back, except by a restoration.
 *
 * Values are stored once for each swap; version 0 is that of a key without a state. BUG_... plants
 * a mistake; `tools/model.mjs` lists the mistakes and checks that each is found.
 */
#ifndef SWAPS
#define SWAPS 4
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef END
#define END 3       /* ticks of a run */
#endif

#define TTL 2       /* ticks of a lease */
#define RETENTION 2 /* ticks after which an idle state may be forgotten; at least TTL */
#define NONE 2
#define MAX(x, y) (x > y -> x : y)

#if defined(BUG_COUNTED) || defined(BUG_SEQUENCE)
#define COUNTS      /* versions are numbers, which begin anew with the row or the backup */
#endif

byte now;
byte faults = FAULTS;
byte next = 1;      /* the version of the next swap */

/* The register: the current version. */
byte current;
byte epoch;         /* restorations */
#ifdef RESTORE
byte backup, restoredAt;
bool saved;
/* an old grant, which the resource refuses */
#define CAME_BACK(x) (epoch != 0 && vFence[x] <= 8 * restoredAt)
#else
#define CAME_BACK(x) false
#endif

/* The values, by version. */
byte vHolder[SWAPS + 1] = NONE, vId[SWAPS + 1], vFence[SWAPS + 1], vEnds[SWAPS + 1];
byte vWaiter[SWAPS + 1] = NONE, vWaiterId[SWAPS + 1], vForget[SWAPS + 1], vTime[SWAPS + 1];
bool vPushed[SWAPS + 1];   /* it grants the lock to the waiter */
/* The swaps, by version: on the way, what they replace, whether and when they took effect. */
bool sent[SWAPS + 1], won[SWAPS + 1], lost[SWAPS + 1];
byte replaces[SWAPS + 1], wonAt[SWAPS + 1], wonIn[SWAPS + 1];
#ifdef COUNTS
byte number[SWAPS + 1];
#define SAME(v) (number[current] == number[replaces[v]])
#else
#define SAME(v) (current == replaces[v])
#endif

/* The processes. */
mtype = { ACQUIRE, RENEW, RELEASE };
mtype op[2];
bool busy[2];              /* it awaits the answer to the swap mine[p] */
byte mine[2], began[2], id[2] = 1, startFence[2];
byte kept[2];              /* a version, 0: none */
byte keptTime[2];
byte held[2], heldEnds[2], heldIn[2];
byte known[2];             /* the id of the last lease that it was granted */
byte released[2];          /* the id of the last lease whose release was confirmed */
byte confirmedFence;

byte base, t, v, left;     /* temporary values of one step */

#define BELIEVES(p) (held[p] != 0 && now < heldEnds[p])
#define KEEPS(x, p) \
  (!BELIEVES(p) || heldIn[p] != epoch || (vHolder[x] == p && vFence[x] == held[p]))
#define OWNS(x, p) (vHolder[x] == p && vId[x] == id[p])
#define WAITS(x, p) (vWaiter[x] == p && vWaiterId[x] == id[p])

inline believe(p, x, ends, when) {
  if
  :: now < ends ->
     assert(!BELIEVES(1 - p) || heldIn[1 - p] != when);      /* I1 */
     held[p] = vFence[x]; heldEnds[p] = ends; heldIn[p] = when
  :: else -> held[p] = 0; heldEnds[p] = 0
  fi
}

inline granted(p, x, ends, when) {
  /* I2; a repeated request finds its own grant, and a late answer may find an ended lease */
  assert(op[p] == RENEW || vFence[x] > startFence[p] || known[p] == id[p] || now >= ends ||
    CAME_BACK(x));
  known[p] = id[p];
  believe(p, x, ends, when);
  confirmedFence = MAX(confirmedFence, vFence[x])
}

inline forgetLease(p) { held[p] = 0; heldEnds[p] = 0; heldIn[p] = 0 }

inline grant(p, q, i) {
  vHolder[v] = q; vId[v] = i;
#ifdef BUG_FENCE_FORGOTTEN
  vFence[v] = vFence[v] + 1;
#else
  vFence[v] = MAX(vFence[v] + 1, 8 * t + 1);
#endif
  vEnds[v] = t + TTL;
  vWaiter[v] = NONE; vWaiterId[v] = 0
}

/* Applies the command of p to the state `base` at the time `t`, as the value of version `v`. */
inline apply(p) {
  v = next; next++;
  replaces[v] = base;
  if
  :: base != 0 && vForget[base] <= t -> base = 0    /* counts as forgotten */
  :: else
  fi;
  vHolder[v] = vHolder[base]; vId[v] = vId[base]; vEnds[v] = vEnds[base];
  vWaiter[v] = vWaiter[base]; vWaiterId[v] = vWaiterId[base]; vFence[v] = vFence[base];
  vTime[v] = t;
  if
#ifdef BUG_TAKEN_EARLY
  :: vHolder[v] != NONE && vEnds[v] <= t + 1 && vHolder[v] != p -> vHolder[v] = NONE; vId[v] = 0
#endif
  :: vHolder[v] != NONE && vEnds[v] <= t -> vHolder[v] = NONE; vId[v] = 0
  :: op[p] == RELEASE && OWNS(v, p) -> vHolder[v] = NONE; vId[v] = 0
#ifdef BUG_RELEASES_ANY
  :: op[p] == RELEASE && vHolder[v] != NONE -> vHolder[v] = NONE; vId[v] = 0
#endif
  :: op[p] == RENEW && OWNS(v, p) -> vEnds[v] = t + TTL
  :: else
  fi;
  /* serve(): the waiter comes first */
  if
  :: vHolder[v] == NONE && vWaiter[v] != NONE ->
     vPushed[v] = (vWaiter[v] != p); grant(p, vWaiter[v], vWaiterId[v])
  :: else
  fi;
  if
  :: op[p] == ACQUIRE && vHolder[v] == NONE -> grant(p, p, id[p])
  :: op[p] == ACQUIRE && vHolder[v] != NONE && !OWNS(v, p) ->
     vWaiter[v] = p; vWaiterId[v] = id[p]
  :: else
  fi;
  vForget[v] = (vHolder[v] == NONE -> t : vEnds[v]) + RETENTION;
  sent[v] = true; mine[p] = v; busy[p] = true
}

/* True if the command changes nothing in the state x: the read answers it. */
#define GONE(x) (x == 0 || vForget[x] <= now)
#ifdef BUG_RELEASES_ANY
#define UNCHANGED(x, p) \
  (op[p] == ACQUIRE && !GONE(x) && now < vEnds[x] && (OWNS(x, p) || WAITS(x, p)))
#else
#define UNCHANGED(x, p) \
  ((op[p] == ACQUIRE && !GONE(x) && now < vEnds[x] && (OWNS(x, p) || WAITS(x, p))) || \
   (op[p] != ACQUIRE && !OWNS(x, p)))
#endif

/* Begins a command. Without an answer to the last one, the same acquisition goes on. */
inline begin(p) {
  began[p] = now;
  startFence[p] = confirmedFence;
  if
  :: held[p] != 0 -> op[p] = RENEW
  :: held[p] != 0 -> op[p] = RELEASE; forgetLease(p)
  :: held[p] == 0 && op[p] != RELEASE -> op[p] = ACQUIRE
  :: held[p] == 0 && op[p] == RELEASE             /* is repeated until it has an answer */
  fi
}

/* A release is over, or an acquisition is given up: the next one has another id. */
inline over(p) { op[p] = 0; id[p]++ }

/* Reads the state. Sends a swap, or is answered by the read. */
inline readAndSwap(p) {
  d_step {
    base = current; t = MAX(now, vTime[base]);
    if
    :: UNCHANGED(base, p) ->
       kept[p] = 0; keptTime[p] = 0;
       if
       :: op[p] == ACQUIRE && OWNS(base, p) -> granted(p, base, vEnds[base], epoch); op[p] = 0
       :: op[p] == RENEW -> forgetLease(p); over(p)
       :: op[p] == RELEASE -> over(p)
       :: else -> op[p] = 0
       fi
    :: else -> apply(p)
    fi;
    base = 0; t = 0; v = 0
  }
}

/* Takes the kept state, at a time that is never ahead of the clock of the register. */
inline swapKept(p) {
  d_step {
    base = kept[p]; t = keptTime[p];
    kept[p] = 0; keptTime[p] = 0;
    apply(p);
    base = 0; t = 0; v = 0
  }
}

inline start(p) {
  atomic {
    !busy[p] && next <= SWAPS && id[p] <= SWAPS ->
    begin(p);
    if
    :: kept[p] != 0 && (op[p] != ACQUIRE || vHolder[kept[p]] == NONE) -> swapKept(p)
    :: readAndSwap(p)
    fi
  }
}

/* A swap arrives, for the first time or again. */
inline arrive(x) {
  d_step {
    sent[x] ->
    if
#ifdef BUG_NO_COMPARE
    :: !won[x] ->
#else
    :: SAME(x) ->
#endif
       /* I8 */
       assert(epoch != 0 || vHolder[x] == NONE || vId[x] > released[vHolder[x]] ||
         vEnds[x] <= now);
#ifdef COUNTS
       number[x] = number[current] + 1;
#endif
       current = x; won[x] = true; wonAt[x] = now; wonIn[x] = epoch; lost[x] = false;
       assert(KEEPS(x, 0) && KEEPS(x, 1))                          /* I7 */
    :: else -> lost[x] = !won[x]
    fi
  }
}

/* The swap took effect, and its answer arrives. The time that is left counts from the commit. */
inline answer(p) {
  d_step {
    busy[p] && won[mine[p]] ->
    v = mine[p];
    busy[p] = false; mine[p] = 0;
#ifdef BUG_NOT_AT_COMMIT
    left = vEnds[v] - vTime[v];
#else
    left = (vEnds[v] > wonAt[v] -> vEnds[v] - wonAt[v] : 0);
#endif
    kept[p] = v; keptTime[p] = wonAt[v];
    if
    :: op[p] == RELEASE -> released[p] = id[p]; over(p)
#ifdef BUG_FROM_ANSWER
    :: op[p] != RELEASE && OWNS(v, p) -> granted(p, v, now + left, wonIn[v]); op[p] = 0
#else
    :: op[p] != RELEASE && OWNS(v, p) -> granted(p, v, began[p] + left, wonIn[v]); op[p] = 0
#endif
    :: op[p] == RENEW && !OWNS(v, p) -> forgetLease(p); over(p)
    :: else -> op[p] = 0                              /* it waits */
    fi;
    v = 0; left = 0
  }
}

/* The race was lost, or the answer to a repeated swap says so. */
inline refused(p) {
  d_step {
    busy[p] && (lost[mine[p]] || (won[mine[p]] && faults > 0)) ->
    if
    :: won[mine[p]] -> faults--
    :: else -> sent[mine[p]] = false
    fi;
    busy[p] = false; mine[p] = 0
  }
}

/* No answer comes. The swap stays on its way. */
inline unanswered(p) {
  d_step {
    busy[p] && faults > 0 ->
    faults--;
    busy[p] = false;
#ifdef BUG_UNANSWERED_IS_DONE
    if
    :: op[p] == ACQUIRE && OWNS(mine[p], p) ->
       believe(p, mine[p], began[p] + TTL, epoch); op[p] = 0
    :: else
    fi;
#endif
    mine[p] = 0; kept[p] = 0; keptTime[p] = 0
  }
}

/* The caller gives the acquisition up, or the process ends and another one starts. */
inline abandon(p) {
  d_step {
    !busy[p] && faults > 0 && (held[p] != 0 || op[p] != 0) ->
    faults--;
    forgetLease(p); kept[p] = 0; keptTime[p] = 0;
    over(p)
  }
}

/* A waiter hears of its grant. */
inline hear(p, x) {
  d_step {
    won[x] && vPushed[x] && OWNS(x, p) && !busy[p] && op[p] != RELEASE && held[p] == 0 &&
      now < vEnds[x] && vFence[x] > confirmedFence && wonIn[x] == epoch ->
    vPushed[x] = false;
    startFence[p] = confirmedFence; op[p] = ACQUIRE;
    granted(p, x, vEnds[x], wonIn[x]);
    op[p] = 0
  }
}

inline forget() {
  d_step { current != 0 && vForget[current] <= now -> current = 0 }
}

inline tick() {
  d_step {
    now < END ->
    now++;
    v = 0;
    do
    :: v < 2 ->
       if
       :: held[v] != 0 && heldEnds[v] <= now -> held[v] = 0; heldEnds[v] = 0; heldIn[v] = 0;
          op[v] = (busy[v] -> op[v] : 0);
          if
          :: busy[v] -> skip
          :: else -> id[v]++
          fi
       :: else
       fi;
       v++
    :: else -> break
    od;
    v = 0
  }
}

active proctype world() {
  byte x;
  do
  :: now == END -> break
  :: tick()
  :: start(0)
  :: start(1)
  :: answer(0)
  :: answer(1)
  :: refused(0)
  :: refused(1)
  :: unanswered(0)
  :: unanswered(1)
  :: abandon(0)
  :: abandon(1)
  :: forget()
#ifdef RESTORE
  :: d_step { !saved -> saved = true; backup = current }
  :: atomic { saved && epoch == 0 && now < END -> epoch = 1; current = backup; tick(); restoredAt = now }
#endif
  :: atomic {
       select (x : 1 .. SWAPS);
       if
       :: arrive(x)
       :: hear(0, x)
       :: hear(1, x)
       :: else
       fi;
       x = 0
     }
  od
}
