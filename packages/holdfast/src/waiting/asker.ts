/**
 * Asking the store on behalf of waiters: for each by itself when it comes, for all of a key when it
 * is time to look.
 *
 * What is asked repeats the waiter's id and ticket, so that asking twice changes nothing (I3), and
 * names the wake channel as it is at the moment. Every answer, late or not, goes to the room.
 */
import type { Clock } from '../clock.js';
import type { Acquire, AcquireReply, Micros, ParkReply, Standing } from '../engine/types.js';
import type { Moment, Sleep } from '../lease/sleep.js';
import type { Settings } from '../options.js';
import type { Requests } from '../store/requests.js';
import type { Echoes } from './echoes.js';
import type { Line } from './line.js';
import { Sleeper } from './sleeper.js';
import type { Waiter } from './waiter.js';
import type { Wake } from './wake.js';

/** Most acquisitions that one poll asks about; the others are asked about in further polls. */
const POLL_MAX = 1000;
/** Poll periods without a word of this process after which the store takes it for dead. */
const SILENT_PERIODS = 6;
/** A shorter silence than this says nothing: it may be the way to the store, or a busy process. */
const PATIENCE_MS_MIN = 250;

/** What a store answers to somebody who asks. */
export type Answer = AcquireReply | ParkReply;

/** Who hears the answers. */
export interface Hearing {
  /** A request was answered in time. */
  answered(waiter: Waiter, reply: Answer, sent: Moment): void;
  /** A request was answered when it was given up. */
  late(waiter: Waiter, status: Answer['status']): void;
  /** A poll says how a waiter stands. */
  stands(waiter: Waiter, standing: Standing, sent: Moment, now: Micros): void;
  /** A request or a poll was not answered. */
  failed(waiter: Waiter, error: unknown): void;
}

export interface AskerParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly sleep: Sleep;
  readonly echoes: Echoes;
  /** What the store keeps for whoever looks. */
  readonly meta: (label: string) => string;
}

export class Asker {
  readonly #parts: AskerParts;
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly #hearing: Hearing;

  constructor(parts: AskerParts, wake: Wake, hearing: Hearing) {
    this.#parts = parts;
    this.#clock = parts.settings.clock;
    this.#wake = wake;
    this.#hearing = hearing;
  }

  /** Asks for one waiter, unless an answer is under way. */
  async ask(waiter: Waiter): Promise<void> {
    if (waiter.settled || waiter.asking || !waiter.ready) return;
    waiter.asking = true;
    const sent = this.#parts.sleep.moment();
    const command = waiter.request(this.#command(waiter));
    waiter.channel = command.channel;
    waiter.bounds = { ...command, owner: waiter.wanted.terms.owner };
    const late = (reply: Answer): void => {
      if (waiter instanceof Sleeper) waiter.told(reply);
      this.#hearing.late(waiter, reply.status);
    };
    const names = command.channel !== '';
    if (names) this.#wake.named(1);
    let reply: Answer;
    try {
      reply = await this.#parts.requests.send(command, late);
    } catch (error) {
      waiter.asking = false;
      waiter.echoes = true;
      if (waiter.settled) waiter.unanswered();
      else this.#hearing.failed(waiter, error);
      return;
    } finally {
      if (names) this.#wake.named(-1);
    }
    waiter.asking = false;
    waiter.tokens.answered(command.token);
    if (this.#parts.echoes.possible(this.#clock.now() - sent.at)) waiter.echoes = true;
    if (waiter instanceof Sleeper) waiter.told(reply);
    if (waiter.settled) this.#hearing.late(waiter, reply.status);
    else this.#hearing.answered(waiter, reply, sent);
  }

  /** Asks for one waiter after a pause, in which whatever is wrong may pass. */
  askLater(waiter: Waiter): void {
    const { chance, claimWindow, unreachableAfter } = this.#parts.settings;
    const jitter = 0.5 + chance.fraction() / 2;
    const pause = Math.min(claimWindow / 4, unreachableAfter / 10) * jitter;
    waiter.pause(this.#clock.after(pause, () => void this.ask(waiter)));
  }

  /** Looks after all waiters of a key. Those that the store knows with another channel ask anew. */
  poll(line: Line): void {
    line.plan(Number.POSITIVE_INFINITY, this.period(line.waiters()));
    const polled: Waiter[] = [];
    for (const waiter of line.waiters()) {
      if (waiter.channel !== this.#wake.channel) void this.ask(waiter);
      else polled.push(waiter);
    }
    for (let from = 0; from < polled.length; from += POLL_MAX) {
      void this.#look(line, polled.slice(from, from + POLL_MAX));
    }
  }

  /** Asks how some waiters of a key stand: one command. */
  async #look(line: Line, polled: readonly Waiter[]): Promise<void> {
    const ids = polled.map(({ id }) => id);
    const { requests, settings, sleep } = this.#parts;
    const { retention } = settings;
    const patience = this.#patience(line.waiters());
    const sent = sleep.moment();
    try {
      const reply = await requests.send({ op: 'poll', key: line.key, ids, patience, retention });
      for (const [index, standing] of reply.standings.entries()) {
        this.#hearing.stands(polled[index] as Waiter, standing, sent, reply.now);
      }
      // who waits for a signal has nothing to look for when a lease ends
      const next = line.asleep ? Number.POSITIVE_INFINITY : reply.next;
      line.plan(next, this.period(line.waiters()));
    } catch (error) {
      for (const waiter of polled) this.#hearing.failed(waiter, error);
    }
  }

  /**
   * How long at most until the next look: one claim window, so that a grant to a frozen process is
   * noticed within one. Without pushes a grant is found by looking, and must be found well within
   * its window.
   */
  period(waiters: Iterable<Waiter>): number {
    let claim = this.#parts.settings.claimWindow;
    for (const { wanted } of waiters) claim = Math.min(claim, wanted.terms.ttl);
    return this.#wake.channel === '' ? claim / 4 : claim;
  }

  /** How long the store bears the silence of this process. */
  #patience(waiters: Iterable<Waiter>): number {
    return Math.ceil(Math.max(PATIENCE_MS_MIN, SILENT_PERIODS * this.period(waiters)));
  }

  #command(waiter: Waiter): Acquire {
    const { id, ticket, wanted } = waiter;
    const { key, weight, capacity, terms } = wanted;
    const { settings } = this.#parts;
    const { channel } = this.#wake;
    return {
      op: 'acquire',
      key,
      id,
      owner: terms.owner,
      weight,
      capacity,
      ttl: terms.ttl,
      // a lease that is not renewed has its whole ttl from the start
      claim: terms.renew ? Math.min(settings.claimWindow, terms.ttl) : terms.ttl,
      fair: terms.fair,
      passes: terms.fair || terms.owner !== '' ? 0 : settings.localHandOffs,
      channel,
      token: channel === '' ? '' : waiter.tokens.draw(settings.chance),
      queue: terms.wait > 0,
      ticket,
      maxQueue: settings.maxQueue,
      patience: this.#patience([waiter]),
      retention: settings.retention,
      meta: this.#parts.meta(terms.label),
    };
  }
}
