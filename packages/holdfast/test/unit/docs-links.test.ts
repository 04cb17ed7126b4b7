/** The check of the generated API reference. */
import { expect, it } from 'vitest';
import { deadPageLinks } from '../../../../tools/docs-links.mjs';

it('finds links to pages that are not there', () => {
  const pages = new Map([
    ['a.md', 'See [b](./b.md), [a part](./a.md#part) and [far](https://example.org/x.md).'],
    ['b.md', 'See [a](./a.md) and [c](./c.md).'],
  ]);
  expect(deadPageLinks(pages)).toEqual(['b.md: no page c.md']);
});
