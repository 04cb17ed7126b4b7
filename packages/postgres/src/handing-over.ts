/**
 * Messages that bring the new state of a lock to its next holder, which then needs no read.
 *
 * Any user of the database can send a message, so the version proves the state: it is a hash of
 * the state, its key and a secret that no version had before. A text that is not that of its
 * version would need another text with the same hash.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { HandedOver } from 'holdfast/register';
import { escaped, unescaped } from './sql.js';

/** No other message begins with it. */
const MARK = '+';

interface Sent {
  readonly version: string;
  readonly text: string;
}

interface Received {
  readonly text: string;
  readonly key: string;
  readonly state: HandedOver;
}

/** A new version of a state, and the text of a message that brings both. */
export function handedOver(text: string, key: string, state: string): Sent {
  const salt = randomUUID();
  const [name, body] = [escaped(key), escaped(state)];
  const version = versionOf(salt, name, body);
  return { version, text: `${MARK}${salt} ${text.length} ${name.length} ${text}${name}${body}` };
}

/** `undefined` for a message that brings none. */
export function received(message: string): Received | undefined {
  const head = /^\+([0-9a-f-]{36}) (\d{1,4}) (\d{1,4}) /.exec(message);
  if (head === null) return undefined;
  const [whole, salt = '', textLength, nameLength] = head;
  const textEnd = whole.length + Number(textLength);
  const nameEnd = textEnd + Number(nameLength);
  const [name, body] = [message.slice(textEnd, nameEnd), message.slice(nameEnd)];
  const state = { state: unescaped(body), version: versionOf(salt, name, body) };
  return { text: message.slice(whole.length, textEnd), key: unescaped(name), state };
}

/** As a UUID. */
function versionOf(salt: string, name: string, body: string): string {
  const hash = createHash('sha256').update(`${salt} ${name.length} ${name}${body}`).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
