/** A frame of an act: from the state to lines. Pure. */
import { chart, legend, MARGIN } from './chart.js';
import { type Line, line, styled } from './line.js';
import type { Phase, Scene } from './scene.js';

const GAUGE = 20;
const LABEL = 'lease'.padEnd(MARGIN - 1);

export function frame(scene: Scene, now: number, columns: number): Line[] {
  const { notes } = scene.setting;
  const shown = notes === 0 ? [] : scene.notes.slice(-notes);
  return [
    ...chart(scene, now, columns),
    gauge(scene, now),
    ...(notes === 0 ? [] : [line('')]),
    ...Array.from({ length: notes }, (_, index) => note(shown[index] ?? '')),
    line(''),
    legend(scene),
  ];
}

export function heading({ title, look }: Scene['setting']): Line[] {
  return [
    line(''),
    line(' ', styled('bold', title)),
    ...look.map((text) => line(' ', text)),
    line(''),
  ];
}

/** How much of the present lease is left: it shrinks, and a renewal fills it up. */
function gauge(scene: Scene, now: number): Line {
  const { holder } = scene;
  const left = holder === undefined ? 0 : Math.max(0, holder.leaseEnds - now);
  const held = holder !== undefined && !over(holder.phases.at(-1)?.phase) && left > 0;
  const dying = holder?.phases.some(({ phase }) => phase === 'dead') === true && left > 0;
  if (!held && !dying) return line(styled('dim', ` ${LABEL}${'─'.repeat(GAUGE)} none`));
  const filled = Math.min(GAUGE, Math.round((left / scene.setting.ttl) * GAUGE));
  return line(
    styled('dim', ` ${LABEL}`),
    styled(dying ? 'red' : 'cyan', '━'.repeat(filled)),
    styled('dim', '─'.repeat(GAUGE - filled)),
    ` ${(left / 1000).toFixed(1)} s left of ${holder.name}'s`,
  );
}

function over(phase: Phase | undefined): boolean {
  return phase === undefined || phase === 'gone' || phase === 'waits';
}

function note(text: string): Line {
  return line(' ', text.includes('REFUSED') ? styled('red', text) : text);
}
