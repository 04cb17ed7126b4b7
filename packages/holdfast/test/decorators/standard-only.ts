/** What only standard decorators support: private methods, and an error for a non-method. */
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
