/**
 * What the types of `locked` accept and refuse, with both kinds of decorators. This file is only
 * compiled: a `@ts-expect-error` without an error below it is itself an error.
 */
import { type Holdfast, locked } from 'holdfast';

declare const holdfast: Holdfast;

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if the two types are the same. */
function same<A, B>(..._proof: Equal<A, B> extends true ? [] : ['these types differ']): void {}

interface Order {
  readonly id: string;
  readonly total: number;
}

export class Accepted {
  readonly holdfast: Holdfast = holdfast;

  @locked(holdfast, 'constant')
  async nothing(): Promise<void> {}

  @locked(holdfast, '{0}')
  async template(id: string): Promise<string> {
    return id;
  }

  @locked(holdfast, (id: string) => id)
  async moreArguments(id: string, amount: number): Promise<number> {
    return amount + id.length;
  }

  @locked(holdfast, ({ id }: { id: string }) => id)
  async widerThanNeeded(order: Order): Promise<Order> {
    return order;
  }

  @locked(holdfast, (...ids: string[]) => ids.join())
  async rest(...ids: string[]): Promise<string[]> {
    return ids;
  }

  @locked(
    (self: Accepted) => self.holdfast,
    (id: string) => id,
    { wait: 5, reentrant: true },
  )
  async found(id: string): Promise<{ readonly id: string }> {
    return { id };
  }

  @locked(holdfast, '{0}')
  async generic<T extends string>(value: T): Promise<T> {
    return value;
  }
}

export class Derived extends Accepted {
  @locked((self: Accepted) => self.holdfast, 'base')
  async ofTheBase(): Promise<void> {}
}

const accepted = new Accepted();
same<Awaited<ReturnType<typeof accepted.moreArguments>>, number>();
same<Parameters<typeof accepted.moreArguments>, [id: string, amount: number]>();
same<ReturnType<typeof accepted.found>, Promise<{ readonly id: string }>>();
same<typeof accepted.generic, <T extends string>(value: T) => Promise<T>>();
// @ts-expect-error the check itself detects a difference
same<string, number>();

export class Refused {
  // @ts-expect-error the method returns no promise, but its caller would get one
  @locked(holdfast, 'key')
  synchronous(): number {
    return 1;
  }

  // @ts-expect-error a generator runs after the call has returned
  @locked(holdfast, 'key')
  async *generator(): AsyncGenerator<number> {
    yield 1;
  }

  // @ts-expect-error the key is made from a number, the argument is a string
  @locked(holdfast, (id: number) => `${id}`)
  async otherType(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error the key needs more arguments than the method has
  @locked(holdfast, (id: string, part: string) => id + part)
  async tooFew(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error the instance comes from another class
  @locked((self: Accepted) => self.holdfast, 'key')
  async elsewhere(): Promise<void> {}

  // @ts-expect-error unknown option
  @locked(holdfast, 'key', { timeout: 5 })
  async misspelt(): Promise<void> {}

  // @ts-expect-error a key is a string
  @locked(holdfast, (id: number) => id)
  async noText(id: number): Promise<number> {
    return id;
  }

  // @ts-expect-error a property cannot be decorated
  @locked(holdfast, 'key')
  property = async (): Promise<void> => {};
}
