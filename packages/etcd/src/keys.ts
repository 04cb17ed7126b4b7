/**
 * Names and texts in etcd. Below the root, `k/` has the states and `w/` the messages. A message is
 * a new value of a key of its channel; which key does not matter.
 */

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
export const textOf = (encoded: string): string => Buffer.from(encoded, 'base64').toString();

/** A range of keys: from `key` on, before `range_end`. */
export interface Range {
  readonly key: string;
  readonly range_end: string;
}

/** All keys with a prefix. No text in UTF-8 has the byte 255, so the last byte can grow. */
export function rangeOf(prefix: string, from: string = prefix): Range {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) as number) + 1;
  return { key: base64(from), range_end: end.toString('base64') };
}

export class Names {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  state(key: string): string {
    return `${this.#root}k/${key}`;
  }

  /** The key of a state, from its name. */
  keyOf(name: string): string {
    return name.slice(this.#root.length + 2);
  }

  /** The beginning of the messages of a channel, or of all. Channels have no character 0. */
  messages(channel?: string): string {
    return `${this.#root}w/${channel === undefined ? '' : `${channel}\0`}`;
  }

  /** The mark of an `overtake`. It is removed with the old messages; no channel is empty. */
  mark(key: string): string {
    return `${this.messages('')}${key}`;
  }
}

/** A state with its time in one value. */
export const valueOf = (state: string, forgetAt: number): string => base64(`${forgetAt}\n${state}`);

/** The parts of a value. */
export function partsOf(value: string): { state: string; forgetAt: number } {
  const text = textOf(value);
  const end = text.indexOf('\n');
  return { state: text.slice(end + 1), forgetAt: Number(text.slice(0, end)) };
}
