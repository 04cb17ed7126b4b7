/** The output of the demo: a live chart in a terminal, or a log with one line for each event. */
import { now } from '../time.js';
import { type LocalQueue, line, paint, plain, styled } from './line.js';
import type { ScenarioState } from './state.js';
import { frame } from './frame.js';

export interface Display {
  /** Starts to show a scenario. */
  begin(state: ScenarioState): void;
  /** Shows an event. */
  note(text: string): void;
  /** Ends the scenario; its last frame remains visible. */
  end(): void;
  print(...lines: LocalQueue[]): void;
}

type Terminal = NodeJS.WriteStream;

const FRAME_MS = 100;
const LEAST_COLUMNS = 80;
const LEAST_ROWS = 20;

export function displayFor(terminal: Terminal): Display {
  const { isTTY, columns, rows } = terminal;
  const live = isTTY && terminal.hasColors() && columns >= LEAST_COLUMNS && rows >= LEAST_ROWS;
  return live ? new LiveDisplay(terminal) : new LogDisplay(terminal);
}

class LogDisplay implements Display {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  begin(): void {}

  note(text: string): void {
    this.print(line(text));
  }

  end(): void {}

  print(...lines: LocalQueue[]): void {
    for (const each of lines) this.#terminal.write(`${plain(each).trimEnd()}\n`);
  }
}

// escape sequences of all current terminal emulators; a terminal that does not know the last two
// ignores them
const UP = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A`);
const CLEAR_REST = '\u001b[K';
/** To the remaining margin, over what the keyboard has echoed (`^C`). */
const FRESH = `\r${CLEAR_REST}`;
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';

/** Draws the frames of a scenario in place; earlier output scrolls as usual. */
class LiveDisplay implements Display {
  readonly #terminal: Terminal;
  #state: ScenarioState | undefined;
  #height = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  begin(state: ScenarioState): void {
    this.#state = state;
    this.#height = 0;
    this.#terminal.write(HIDE_CURSOR);
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
  }

  note(): void {
    this.#draw();
  }

  end(): void {
    if (this.#state === undefined) return;
    clearInterval(this.#timer);
    this.#draw();
    this.#state = undefined;
    this.#terminal.write(SHOW_CURSOR);
  }

  print(...lines: LocalQueue[]): void {
    const text = lines.map((each) => `${paint(each, this.#columns)}\n`).join('');
    this.#terminal.write(FRESH + text);
  }

  get #columns(): number {
    // a character in the last column would make some terminals wrap
    return this.#terminal.columns - 1;
  }

  #draw(): void {
    if (this.#state === undefined) return;
    const columns = this.#columns;
    const lines = frame(this.#state, now(), columns);
    const text = lines.map((each) => `${paint(each, columns)}${CLEAR_REST}\n`).join('');
    // one write, so that a terminal does not show half a frame
    this.#terminal.write(BEGIN_UPDATE + FRESH + UP(this.#height) + text + END_UPDATE);
    this.#height = lines.length;
  }
}

/** The line of a check, with its symbol. */
export function verdict(ok: boolean, text: string): LocalQueue {
  return line(' ', ok ? styled('green', '✓') : styled('red', '✗'), ' ', text);
}
