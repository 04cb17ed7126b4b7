/** Who plays the demo. */
import type { Holdfast } from 'holdfast';
import type { News } from '../reports.js';
import type { Access } from '../resource.js';
import type { Task } from '../work.js';

export interface Player {
  readonly name: string;
  start(task: Task): void;
  /** The word that a task of two writes waits for. */
  proceed(): void;
  /** Ends without a word to anybody. Resolves when it does nothing any more. */
  kill(): Promise<void>;
  /** Lets it stand still. */
  pause(): void;
  resume(): void;
}

/** How it is done, in words for the audience. */
export interface Words {
  /** One line that says who plays. */
  readonly cast: string;
  readonly kill: string;
  readonly pause: string;
  readonly resume: string;
  /** What the audience is told before it sees a player die, or stand still. */
  readonly killing: (victim: string, next: string) => readonly string[];
  readonly pausing: (sleeper: string) => readonly string[];
}

export interface Crew {
  readonly players: readonly Player[];
  /** Sees the same locks as the players. */
  readonly observer: Holdfast;
  readonly words: Words;
  /** Whether a player that stands still stops to renew by itself, as a process does. */
  readonly renews: boolean;
  /** Ends all players; no lock stays behind. */
  dismiss(): Promise<void>;
}

/** What players need of the demo. */
export interface Director {
  tell(worker: string, news: News, at: number): void;
  access(worker: string): Access;
}

export function nameOf(index: number): string {
  return `worker ${index + 1}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
