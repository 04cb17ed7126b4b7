/** Builds the lines of one frame from the state of a scenario. Pure. */
import { chart, legend, MARGIN } from './chart.js';
import { type LocalQueue, line, styled } from './line.js';
import type { Phase, ScenarioState } from './state.js';

const GAUGE = 20;
const LABEL = 'lease'.padEnd(MARGIN - 1);

export function frame(state: ScenarioState, now: number, columns: number): LocalQueue[] {
  const { notes } = state.info;
  const shown = notes === 0 ? [] : state.notes.slice(-notes);
  return [
    ...chart(state, now, columns),
    gauge(state, now),
    ...(notes === 0 ? [] : [line('')]),
    ...Array.from({ length: notes }, (_, index) => note(shown[index] ?? '')),
    line(''),
    legend(state),
  ];
}

export function heading({ title, intro }: ScenarioState['info']): LocalQueue[] {
  return [
    line(''),
    line(' ', styled('bold', title)),
    ...intro.map((text) => line(' ', text)),
    line(''),
  ];
}

/** A bar with the remaining time of the current lease; a renewal fills it. */
function gauge(state: ScenarioState, now: number): LocalQueue {
  const { holder } = state;
  const remaining = holder === undefined ? 0 : Math.max(0, holder.leaseEnds - now);
  const held = holder !== undefined && !ended(holder.phases.at(-1)?.phase) && remaining > 0;
  const orphaned = holder?.phases.some(({ phase }) => phase === 'dead') === true && remaining > 0;
  if (!held && !orphaned) return line(styled('dim', ` ${LABEL}${'─'.repeat(GAUGE)} none`));
  const filled = Math.min(GAUGE, Math.round((remaining / state.info.ttl) * GAUGE));
  return line(
    styled('dim', ` ${LABEL}`),
    styled(orphaned ? 'red' : 'cyan', '━'.repeat(filled)),
    styled('dim', '─'.repeat(GAUGE - filled)),
    ` ${(remaining / 1000).toFixed(1)} s left on ${holder.name}'s lease`,
  );
}

function ended(phase: Phase | undefined): boolean {
  return phase === undefined || phase === 'finished' || phase === 'waits';
}

function note(text: string): LocalQueue {
  return line(' ', text.includes('REFUSED') ? styled('red', text) : text);
}
