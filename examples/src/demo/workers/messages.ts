/** The messages between the demo and a worker's process. */
import type { ReportBody } from '../reports.js';
import type { Task } from '../task.js';

export type ToWorker =
  | { readonly type: 'connect'; readonly url: string; readonly prefix: string }
  | { readonly type: 'start'; readonly task: Task }
  | { readonly type: 'proceed' }
  | { readonly type: 'answer'; readonly call: number; readonly result: number }
  | { readonly type: 'close' };

export type ToDemo =
  | { readonly type: 'ready' }
  | { readonly type: 'report'; readonly body: ReportBody; readonly at: number }
  | { readonly type: 'call'; readonly call: number; readonly step: Step };

/** A call of the resource, which is in the demo's process. */
export type Step =
  | { readonly do: 'enter' }
  | { readonly do: 'leave' }
  | { readonly do: 'write'; readonly fence: number };
