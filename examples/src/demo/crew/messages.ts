/** What the demo and a worker's process say to each other. */
import type { News } from '../reports.js';
import type { Task } from '../work.js';

export type ToWorker =
  | { readonly say: 'hello'; readonly url: string; readonly prefix: string }
  | { readonly say: 'start'; readonly task: Task }
  | { readonly say: 'proceed' }
  | { readonly say: 'answer'; readonly call: number; readonly result: number }
  | { readonly say: 'close' };

export type ToDemo =
  | { readonly say: 'ready' }
  | { readonly say: 'news'; readonly news: News; readonly at: number }
  | { readonly say: 'call'; readonly call: number; readonly step: Step };

/** A step at the resource, which lives in the demo's process. */
export type Step =
  | { readonly do: 'enter' }
  | { readonly do: 'leave' }
  | { readonly do: 'write'; readonly fence: number };
