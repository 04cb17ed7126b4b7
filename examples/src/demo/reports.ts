/** Reports of the events in the demo, from the workers and from the scenarios. */

interface About {
  /** See `now`. */
  readonly at: number;
  readonly worker: string;
}

export type Report = About &
  (
    | { readonly what: 'waits' }
    | { readonly what: 'holds'; readonly fence: number; readonly remaining: number }
    | { readonly what: 'renewed'; readonly remaining: number }
    | { readonly what: 'wrote'; readonly fence: number; readonly highest: number }
    | { readonly what: 'looked'; readonly held: boolean; readonly aborted: boolean }
    | { readonly what: 'releases' }
    | { readonly what: 'done'; readonly outcome: 'freed' | 'lost' }
    | { readonly what: 'failed'; readonly message: string }
    | { readonly what: 'killed'; readonly how: string; readonly leaseEnds: number }
    | { readonly what: 'paused'; readonly how: string }
    | { readonly what: 'resumed'; readonly how: string }
    | { readonly what: 'up' | 'down' }
  );

export type Kind = Report['what'];

export type ReportOf<K extends Kind> = Extract<Report, { readonly what: K }>;

/** A report without its time and worker. */
export type ReportBody = Report extends infer R
  ? R extends Report
    ? Omit<R, keyof About>
    : never
  : never;
