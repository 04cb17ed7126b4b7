/**
 * A lock in another library's format, on one server or a majority of several. Each script may be
 * repeated: only the holder's own value extends or deletes the lock.
 */
import type { ClientPort } from '../../store/clients/port.js';
import type { Clock } from '../../base/clock.js';
import { OutOfStep, StoreFailure } from '../../store/port.js';
import { notQueued } from '../../store/redis/codec.js';
import { failureOf } from '../../store/redis/error-replies.js';
import { provenPort } from '../../store/redis/proven-port.js';

/** `KEYS[1]` is the lock, `ARGV[1]` the holder, `ARGV[2]` the ttl. */
export interface LockFormat {
  /** Takes the lock, or extends it for its holder. 0 if another has it. */
  readonly take: string;
  /** 0 if the holder has it no more. */
  readonly renew: string;
  /** Deletes the lock, with the channel in `ARGV[2]`. 0 if the holder has it no more. */
  readonly release: string;
}

/** Not `provable`: this server may be older than 7.0. */
const withProof = (script: string): string => `local proof = table.remove(ARGV)
local function answer()
${script}
end
return proof .. ' ' .. answer()`;

/** Of most servers: 1 is yes, 0 is no. */
type Vote = 0 | 1;

export class OldLock {
  readonly key: string;
  readonly #ports: readonly ClientPort[];
  readonly #format: LockFormat;
  /** The channel on which the other library waits for a release, or `''`. */
  readonly #channel: string;

  /** @internal */
  constructor(ports: readonly ClientPort[], format: LockFormat, key: string, channel = '') {
    this.#ports = ports.map(provenPort);
    this.#format = format;
    this.key = key;
    this.#channel = channel;
  }

  /** @internal */
  get hasSeveral(): boolean {
    return this.#ports.length > 1;
  }

  /** @internal */
  take(clock: Clock, limit: number, holder: string, ttl: number): Promise<Vote> {
    return this.#ask(clock, limit, this.#format.take, [holder, `${ttl}`]);
  }

  /** @internal */
  renew(clock: Clock, limit: number, holder: string, ttl: number): Promise<Vote> {
    return this.#ask(clock, limit, this.#format.renew, [holder, `${ttl}`]);
  }

  /** @internal */
  release(clock: Clock, limit: number, holder: string): Promise<Vote> {
    return this.#ask(clock, limit, this.#format.release, [holder, this.#channel]);
  }

  /** Rejects with a `StoreFailure` if no answer has a majority. */
  #ask(clock: Clock, limit: number, script: string, args: readonly string[]): Promise<Vote> {
    const all = this.#ports.length;
    const majority = Math.floor(all / 2) + 1;
    return new Promise((resolve, reject) => {
      const timer = clock.after(limit, () => reject(noReply(limit)), true);
      let [yes, no, failed] = [0, 0, 0];
      const count = (failure?: StoreFailure): void => {
        const missing = all - yes - no - failed;
        if (yes >= majority) resolve(1);
        else if (no >= majority) resolve(0);
        else if (Math.max(yes, no) + missing >= majority) return;
        else reject(failure ?? noReply(limit));
        timer.cancel();
      };
      for (const port of this.#ports) {
        const vote = async (): Promise<void> => {
          const answer = notQueued(await port.eval(withProof(script), [this.key], args));
          if (answer === 0) no += 1;
          else if (answer === 1) yes += 1;
          else throw new OutOfStep(port.name);
          count();
        };
        vote().catch((error: unknown) => {
          failed += 1;
          count(error instanceof StoreFailure ? error : failureOf(error, port.isReply(error)));
        });
      }
    });
  }
}

function noReply(limit: number): StoreFailure {
  const message = `no answer about the lock of the other library within ${Math.ceil(limit)} ms`;
  return new StoreFailure(message, 'unanswered', undefined);
}
