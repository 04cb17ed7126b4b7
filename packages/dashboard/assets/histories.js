/** The states of each lock since the page was opened, if it has changed. */
const KEYS_MAX = 5000;
const STATES_MAX = 500;

export class Histories {
  /** The key that changed last is the last one. */
  #states = new Map();

  of(key) {
    return this.#states.get(key) ?? [];
  }

  /** @param kept the key whose history is never dropped */
  add(key, state, kept) {
    const history = this.of(key);
    history.push(state);
    if (history.length > STATES_MAX) history.shift();
    this.#states.delete(key);
    this.#states.set(key, history);
    if (this.#states.size <= KEYS_MAX) return;
    for (const oldest of this.#states.keys()) {
      if (oldest === kept) continue;
      this.#states.delete(oldest);
      return;
    }
  }
}
