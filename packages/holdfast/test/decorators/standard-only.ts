/** What only standard decorators can do: private methods, and what is not a method. */
import { type Holdfast, locked } from 'holdfast';

export class Vault {
  readonly #holdfast: Holdfast;

  constructor(holdfast: Holdfast) {
    this.#holdfast = holdfast;
  }

  @locked((self: Vault) => self.#holdfast, 'vault')
  async #open(): Promise<boolean> {
    return (await this.#holdfast.inspect('vault')) !== null;
  }

  open(): Promise<boolean> {
    return this.#open();
  }
}
