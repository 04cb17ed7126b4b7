/**
 * Workers in this process: each has a `Holdfast` of its own, all on one store in memory, as
 * processes would have on a server.
 *
 * There is no process to kill or to stop. So a worker that is to die, or to stand still, takes its
 * lock without renewal, and then does nothing any more: for the others it is the same.
 */
import { Holdfast, memory } from 'holdfast';
import type { News } from '../reports.js';
import { now } from '../time.js';
import { perform, type Surroundings, type Task } from '../work.js';
import { capital, type Crew, type Director, nameOf, type Player, type Words } from './crew.js';

export function embeddedCrew(size: number, director: Director): Crew {
  const store = memory();
  const observer = new Holdfast(store);
  const players = Array.from({ length: size }, (_, index) => {
    return new EmbeddedPlayer(nameOf(index), new Holdfast(store), director);
  });
  return {
    players,
    observer,
    words: wordsFor(size),
    renews: false,
    async dismiss() {
      const all = [observer, ...players.map(({ holdfast }) => holdfast)];
      await Promise.all(all.map((holdfast) => holdfast.close({ grace: 0 })));
    },
  };
}

function wordsFor(size: number): Words {
  return {
    cast: `embedded: ${size} workers in this process, locks in memory, no server`,
    kill: 'falls silent for ever',
    pause: 'stands still, with its lease not renewed',
    resume: 'goes on, as if no time had passed',
    killing: (victim, next) => [
      `Embedded, no process can be killed: ${victim} takes the lock without renewal,`,
      `and is never heard of again. ${capital(next)} gets it when the lease ends, not before.`,
    ],
    pausing: (sleeper) => [
      `Embedded, no process can be stopped: ${sleeper} does not renew its lease,`,
      'and sleeps past its end. Then it writes, without looking: see it refused.',
    ],
  };
}

class EmbeddedPlayer implements Player {
  readonly name: string;
  readonly holdfast: Holdfast;
  readonly #director: Director;
  #dead = false;
  #proceed: () => void = () => undefined;

  constructor(name: string, holdfast: Holdfast, director: Director) {
    this.name = name;
    this.holdfast = holdfast;
    this.#director = director;
  }

  start(task: Task): void {
    const told = new Promise<void>((resolve) => {
      this.#proceed = resolve;
    });
    const around: Surroundings = {
      resource: this.#director.access(this.name),
      tell: (news: News) => {
        if (!this.#dead) this.#director.tell(this.name, news, now());
      },
      word: () => told,
    };
    void perform(this.holdfast, task, around);
  }

  proceed(): void {
    this.#proceed();
  }

  async kill(): Promise<void> {
    this.#dead = true;
  }

  /** Its lease is not renewed, and it waits for a word: it stands still already. */
  pause(): void {}

  resume(): void {}
}
