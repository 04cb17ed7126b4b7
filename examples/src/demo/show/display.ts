/** Where the demo is shown: live in a terminal, or as a log, one line an event. */
import { now } from '../time.js';
import { type Line, line, paint, plain, styled } from './line.js';
import type { Scene } from './scene.js';
import { frame } from './view.js';

export interface Display {
  /** An act begins. */
  begin(scene: Scene): void;
  /** Something happened in it, worth a line. */
  note(text: string): void;
  /** It is over: the last picture stays. */
  end(): void;
  print(...lines: Line[]): void;
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

  print(...lines: Line[]): void {
    for (const each of lines) this.#terminal.write(`${plain(each).trimEnd()}\n`);
  }
}

// the escape sequences of every terminal emulator of today; who does not know the last two ignores
// them
const UP = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A`);
const CLEAR_REST = '\u001b[K';
/** To the left margin, over what the keyboard has echoed (`^C`). */
const FRESH = `\r${CLEAR_REST}`;
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';

/** Draws the picture of an act in place; what was printed before scrolls away as usual. */
class LiveDisplay implements Display {
  readonly #terminal: Terminal;
  #scene: Scene | undefined;
  #height = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  begin(scene: Scene): void {
    this.#scene = scene;
    this.#height = 0;
    this.#terminal.write(HIDE_CURSOR);
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
  }

  note(): void {
    this.#draw();
  }

  end(): void {
    if (this.#scene === undefined) return;
    clearInterval(this.#timer);
    this.#draw();
    this.#scene = undefined;
    this.#terminal.write(SHOW_CURSOR);
  }

  print(...lines: Line[]): void {
    const text = lines.map((each) => `${paint(each, this.#columns)}\n`).join('');
    this.#terminal.write(FRESH + text);
  }

  get #columns(): number {
    // a character in the last column would make some terminals wrap
    return this.#terminal.columns - 1;
  }

  #draw(): void {
    if (this.#scene === undefined) return;
    const columns = this.#columns;
    const lines = frame(this.#scene, now(), columns);
    const text = lines.map((each) => `${paint(each, columns)}${CLEAR_REST}\n`).join('');
    // in one write, or a terminal could show half of it
    this.#terminal.write(BEGIN_UPDATE + FRESH + UP(this.#height) + text + END_UPDATE);
    this.#height = lines.length;
  }
}

/** What was found, with its sign. */
export function verdict(ok: boolean, text: string): Line {
  return line(' ', ok ? styled('green', '✓') : styled('red', '✗'), ' ', text);
}
