/**
 * The Redis protocol: splits a stream, received in chunks of any size, into frames, and decodes a
 * frame.
 */

/** A decoded frame. Errors are values here, because a proxy passes them on. */
export type Value = string | number | null | boolean | RespError | Value[] | Map<Value, Value>;

/** An error reply. */
export class RespError extends Error {
  override readonly name = 'RespError';
}

/** The stream is not RESP (or contains a streamed type of RESP3, which no server sends). */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

const CR = 13;
const LF = 10;
const LINES = '+-:_#,(';
const BULKS = '$=!';
const AGGREGATES = '*~>%|';

/** A command as a client sends it. */
export function encodeCommand(words: readonly (string | number | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = typeof word === 'object' ? word : Buffer.from(String(word));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/**
 * Splits a stream into frames. `requests` also accepts inline commands (a bare line); `replies`
 * throws a FrameError for them.
 */
export class FrameSplitter {
  readonly #inline: boolean;
  #chunks: Buffer[] = [];
  #size = 0;
  /**
   * No parsing before this many bytes have arrived, so that a big value in small chunks does not
   * take quadratic time.
   */
  #needed = 1;
  /** The parsed length of the first frame, and the number of its elements still to parse. */
  #position = 0;
  #pending = 1;

  constructor(direction: 'requests' | 'replies') {
    this.#inline = direction === 'requests';
  }

  /** Adds the next chunk and returns the frames that are now complete. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return [];
    let buffer = this.#take();
    const frames: Buffer[] = [];
    while (this.#advance(buffer)) {
      frames.push(buffer.subarray(0, this.#position));
      buffer = buffer.subarray(this.#position);
      this.#position = 0;
      this.#pending = 1;
    }
    this.#chunks = buffer.length > 0 ? [buffer] : [];
    this.#size = buffer.length;
    return frames;
  }

  /** The bytes of a frame that is not complete. */
  rest(): Buffer {
    return this.#take();
  }

  #take(): Buffer {
    const [first] = this.#chunks;
    return this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
  }

  // true if the frame that starts at 0 is complete; otherwise `#needed` is the least length for it
  #advance(buffer: Buffer): boolean {
    while (this.#pending > 0) {
      const start = this.#position;
      const end = buffer.indexOf(LF, start);
      if (end < 0) {
        this.#needed = buffer.length + 1;
        return false;
      }
      const type = String.fromCharCode(buffer[start] ?? 0);
      if (BULKS.includes(type)) {
        const length = lengthOf(buffer, start, end);
        const after = length < 0 ? end + 1 : end + 1 + length + 2;
        if (after > buffer.length) {
          this.#needed = after;
          return false;
        }
        this.#position = after;
        this.#pending -= 1;
      } else {
        this.#pending += this.#lineElements(type, buffer, start, end);
        this.#position = end + 1;
      }
    }
    this.#needed = 1;
    return true;
  }

  // the change of `#pending` by one line
  #lineElements(type: string, buffer: Buffer, start: number, end: number): number {
    if (LINES.includes(type)) return -1;
    if (!AGGREGATES.includes(type)) {
      if (this.#inline && start === 0) return -1;
      throw new FrameError(`unknown RESP type: ${JSON.stringify(type)}`);
    }
    const length = Math.max(lengthOf(buffer, start, end), 0);
    if (type === '%') return 2 * length - 1;
    // an attribute precedes the value that it describes, and does not count as an element
    return type === '|' ? 2 * length : length - 1;
  }
}

function lengthOf(buffer: Buffer, start: number, end: number): number {
  const text = buffer.toString('latin1', start + 1, buffer[end - 1] === CR ? end - 1 : end);
  if (!/^-?\d+$/.test(text)) throw new FrameError(`invalid RESP length: ${JSON.stringify(text)}`);
  return Number(text);
}

/** Decodes one complete frame. Attributes are ignored. */
export function decode(frame: Buffer): Value {
  return new Reader(frame).value();
}

/** The words of one command frame. */
export function decodeCommand(frame: Buffer): string[] {
  if (frame[0] !== 42) return frame.toString().trim().split(/\s+/).filter(Boolean);
  const words = decode(frame);
  return Array.isArray(words) ? words.map(String) : [];
}

class Reader {
  readonly #frame: Buffer;
  #at = 0;

  constructor(frame: Buffer) {
    this.#frame = frame;
  }

  value(): Value {
    const type = String.fromCharCode(this.#frame[this.#at] ?? 0);
    const text = this.#line();
    switch (type) {
      case '+':
      case '(':
        return text;
      case '-':
        return new RespError(text);
      case ':':
      case ',':
        return Number(text.replace('inf', 'Infinity'));
      case '_':
        return null;
      case '#':
        return text === 't';
      case '$':
        return this.#bulk(Number(text));
      case '=':
        return this.#bulk(Number(text))?.slice('txt:'.length) ?? null;
      case '!':
        return new RespError(this.#bulk(Number(text)) ?? '');
      case '%':
        return this.#map(Number(text));
      case '|':
        this.#map(Number(text));
        return this.value();
      default:
        return this.#array(Number(text));
    }
  }

  #line(): string {
    const end = this.#frame.indexOf('\r\n', this.#at);
    const text = this.#frame.toString('utf8', this.#at + 1, end);
    this.#at = end + 2;
    return text;
  }

  #bulk(length: number): string | null {
    if (length < 0) return null;
    const text = this.#frame.toString('utf8', this.#at, this.#at + length);
    this.#at += length + 2;
    return text;
  }

  #array(length: number): Value {
    if (length < 0) return null;
    return Array.from({ length }, () => this.value());
  }

  #map(length: number): Map<Value, Value> {
    return new Map(Array.from({ length }, () => [this.value(), this.value()] as const));
  }
}
