/** Subscriptions to the channels of one instance of Holdfast. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** A message of any channel. */
interface Message {
  readonly instance: { readonly id: string };
}

/** Listeners by the names of their channels. */
export type Listeners = Readonly<Record<string, (message: never) => void>>;

/** Subscribes to the messages of one instance. Returns a function that ends the subscriptions. */
export function listen(id: string, listeners: Listeners): () => void {
  const stops = Object.entries(listeners).map(([name, listener]) => {
    const own = (message: unknown): void => {
      if ((message as Message).instance.id === id) listener(message as never);
    };
    subscribe(name, own);
    return () => unsubscribe(name, own);
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * What a listener keeps with a message until the end of the operation. It is a property of the
 * message: a `WeakMap` costs several times as much, most of it in the garbage collector.
 */
export class Kept<T> {
  readonly #name = Symbol('holdfast-otel');

  set(message: object, value: T): void {
    (message as Record<symbol, T>)[this.#name] = value;
  }

  get(message: object): T | undefined {
    return (message as Record<symbol, T>)[this.#name];
  }
}
