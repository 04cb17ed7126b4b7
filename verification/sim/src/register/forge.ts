/** Messages that a client without the secrets of the library may publish on a wake channel. */
import type { Random } from '../base/random.js';

/** @param texts messages that were sent before, with secrets that another process knows */
export function forged(random: Random, texts: readonly string[]): string {
  const words = random.pick(texts).split(' ');
  const kind = random.next();
  // a repeated one
  if (kind < 0.3) return words.join(' ');
  if (kind < 0.4) return random.pick(['', 'g', 'x', 'g a 1 2', 'o 1', '\u0001']);
  if (words[0] !== 'g') return words.join(' ');
  const [, id, fence, now, , handOffs, holds] = words;
  if (kind < 0.6) return `${random.pick(['r', 's', 'a'])} ${id}`;
  // a longer lease, without the token
  return `g ${id} ${Number(fence) + random.whole(0, 2)} ${now} 90000000 ${handOffs} ${holds} guess`;
}
