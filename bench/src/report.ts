/** The result of a run: printed as rows, and kept for the result file. */
import type { Spread } from './measure.js';

/** The limits that a figure must respect. */
export interface Target {
  readonly least?: number;
  readonly most?: number;
}

/** One measured figure, with its comparison and its target. */
export interface Figure {
  readonly part: string;
  readonly server: string;
  readonly client: string;
  readonly what: string;
  readonly unit: string;
  readonly value: Spread;
  /** The variant measured in the same rounds for comparison, and the ratio to it. */
  readonly against?: { readonly what: string; readonly value: Spread; readonly ratio: Spread };
  readonly target?: Target & { readonly of: 'value' | 'ratio'; readonly met: boolean };
}

type Raw = Omit<Figure, 'target'> & { target?: Target & { of: 'value' | 'ratio' } };

export class Report {
  readonly figures: Figure[] = [];
  /** Errors other than missed targets. */
  readonly broken: string[] = [];
  #part = '';

  add({ target, ...rest }: Raw): void {
    const judged = target && { ...target, met: meets(rest, target) };
    const figure: Figure = { ...rest, ...(judged && { target: judged }) };
    this.figures.push(figure);
    if (figure.part !== this.#part) console.log(`\n${figure.part}`);
    this.#part = figure.part;
    console.log(line(figure));
  }

  fail(what: string): void {
    this.broken.push(what);
    console.log(`  BROKEN: ${what}`);
  }
}

function meets(
  figure: Omit<Figure, 'target'>,
  target: Target & { of: 'value' | 'ratio' },
): boolean {
  const value =
    (target.of === 'ratio' ? figure.against?.ratio : figure.value)?.median ?? Number.NaN;
  return value >= (target.least ?? -Infinity) && value <= (target.most ?? Infinity);
}

function line({ server, client, what, unit, value, against, target }: Figure): string {
  const parts = [
    `  ${server.padEnd(7)}${client.padEnd(13)}${what.padEnd(44)}`,
    `${show(value.median).padStart(8)} ${unit.padEnd(10)}`,
    range(value).padEnd(18),
  ];
  if (against !== undefined) {
    const { ratio } = against;
    parts.push(
      ` ${against.what} ${show(against.value.median)}: `,
      `ratio ${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    );
  }
  if (target !== undefined) parts.push(`  ${bound(target)}: ${target.met ? 'met' : 'NOT MET'}`);
  return parts.join('').trimEnd();
}

function bound({ of, least, most }: Target & { of: 'value' | 'ratio' }): string {
  const limits = [
    ...(least === undefined ? [] : [`>= ${least}`]),
    ...(most === undefined ? [] : [`<= ${most}`]),
  ];
  return `target${of === 'ratio' ? ' ratio' : ''} ${limits.join(', ')}`;
}

function range({ min, max }: Spread): string {
  return min === max ? '' : `(${show(min)}–${show(max)})`;
}

function show(value: number): string {
  if (Number.isInteger(value) || value >= 1000) return value.toFixed(0);
  return value >= 100 ? value.toFixed(1) : value.toFixed(2);
}
