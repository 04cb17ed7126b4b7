/** Performs the tasks of the other primitives. */
import type { TaskPlan } from '../../plan/plan.js';
import type { World } from '../../world/world.js';
import type { Attempt } from '../attempt.js';
import { Calls, Scheduled } from './calls.js';
import { Fleet } from './fleet.js';
import { Flights } from './flights.js';
import { Force } from './force.js';
import { All, Lead, Resize, Shift } from './holds.js';
import { Kinds } from './kinds.js';
import { Looks } from './looks.js';
import { Crowd, Sprint } from './mass.js';
import { type Part, REFUSALS } from './part.js';
import { Shared } from './shared.js';
import { Sharer } from './sharers.js';
import { Turns } from './turns.js';

interface Performing extends Part {
  perform(): Promise<void>;
}

const PARTS: Readonly<
  Partial<Record<TaskPlan['primitive'], new (world: World, attempt: Attempt) => Performing>>
> = {
  shift: Shift,
  resize: Resize,
  all: All,
  lead: Lead,
  schedule: Scheduled,
  calls: Calls,
  sprint: Sprint,
  crowd: Crowd,
  shared: Shared,
  fleet: Fleet,
  turns: Turns,
  kinds: Kinds,
  sharer: Sharer,
  forced: Force,
  look: Looks,
  flight: Flights,
};

export function isFamily({ primitive }: TaskPlan): boolean {
  return primitive in PARTS;
}

export async function performFamily(world: World, attempt: Attempt): Promise<void> {
  const { primitive } = attempt.task;
  const part = new (PARTS[primitive] as NonNullable<(typeof PARTS)['shift']>)(world, attempt);
  try {
    await part.perform();
  } catch (error) {
    // a run reports its loss; a scheduled one may not know whether its mark was stored
    part.expect(error, [...REFUSALS, 'HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN']);
  }
  attempt.overAt = attempt.client.process.time;
  world.ended(attempt);
  world.watch.visit(attempt.task.key);
}
