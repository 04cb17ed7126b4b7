/** Requests of the torture itself to the JSON gateway of etcd. */

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The name of the state of a lock. */
export const keyOf = (k: string): string => base64(`holdfast/k/holdfast:lock:${k}`);

/** @throws if there is no answer in time, or another one than 200 */
export async function post<T>(endpoint: string, path: string, body: object): Promise<T> {
  const response = await fetch(`${endpoint}/v3/${path}`, {
    ...{ method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`etcd: ${path}: ${text.trim()}`);
  return JSON.parse(text) as T;
}
