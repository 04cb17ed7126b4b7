/**
 * Repeats calls of a script that the server does not know: at first use, after a restart, SCRIPT
 * FLUSH or a fail-over.
 *
 *     unknown --a call goes with the text (EVAL)--> loading --its answer, or none--> unknown
 *
 * Further calls of a script are sent behind its text on the same connection, so many calls send it
 * once.
 */
import type { ClientPort, ScriptCall } from '../clients/port.js';
import { isNoScript } from './error-replies.js';
import type { Script } from './script.js';

interface Repeat {
  readonly call: ScriptCall;
  readonly source: string;
  readonly resolve: (answer: Promise<unknown>) => void;
}

export class ScriptLoader {
  readonly #client: ClientPort;
  readonly #loading = new Set<string>();
  #repeats: Repeat[] = [];

  constructor(client: ClientPort) {
    this.#client = client;
  }

  repeat(call: ScriptCall, script: Pick<Script, 'text'>): Promise<unknown> {
    const source = script.text;
    if (!this.#loading.has(call.sha)) return this.#load(call, source);
    return new Promise((resolve) => {
      this.#repeats.push({ call, source, resolve });
      // the calls of a batch are answered together
      if (this.#repeats.length === 1) void Promise.resolve().then(() => this.#send());
    });
  }

  #load(call: ScriptCall, source: string): Promise<unknown> {
    const { sha, keys, args } = call;
    this.#loading.add(sha);
    const answer = this.#client.eval(source, keys, args, call);
    const loaded = (): void => void this.#loading.delete(sha);
    answer.then(loaded, loaded);
    return answer;
  }

  #send(): void {
    const repeats = this.#repeats;
    this.#repeats = [];
    const answers = this.#client.evalsha(repeats.map(({ call }) => call));
    for (const [index, { call, source, resolve }] of repeats.entries()) {
      const again = (error: unknown): Promise<unknown> => {
        if (!isNoScript(error)) throw error;
        return this.#client.eval(source, call.keys, call.args, call);
      };
      resolve((answers[index] as Promise<unknown>).catch(again));
    }
  }
}
