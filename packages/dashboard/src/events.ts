/** The stream of events of one page (server-sent events). */
import type { Watch } from './watch.js';

/** A comment is sent so often, so that proxies keep the connection and a dead one is noticed. */
const BEAT_MS = 15_000;
/** After that time the page connects again, and its access is decided again. */
const LIFE_MS = 600_000;
/** The most events that wait for a slow page; it has to connect again after them. */
const BEHIND_MAX = 100;

export function eventStream(watch: Watch, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end = (): void => undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string): void => {
        if ((controller.desiredSize ?? 0) < -BEHIND_MAX) end();
        else controller.enqueue(encoder.encode(text));
      };
      const beat = setInterval(() => send(':\n\n'), BEAT_MS);
      const life = setTimeout(() => end(), LIFE_MS);
      let remove = (): void => undefined;
      end = () => {
        end = () => undefined;
        clearInterval(beat);
        clearTimeout(life);
        remove();
        signal.removeEventListener('abort', stop);
        try {
          controller.close();
        } catch {
          // the page has closed it
        }
      };
      const stop = (): void => end();
      signal.addEventListener('abort', stop);
      send('retry: 1000\n\n');
      remove = watch.add((event, data) => {
        send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      });
    },
    cancel: () => end(),
  });
}
