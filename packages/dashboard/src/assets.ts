/** The page and its files. All of them are in this package. */
import { readFileSync } from 'node:fs';

interface Asset {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const read = (name: string): string =>
  readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');

/** The files of the page, by their path. */
export const ASSETS: ReadonlyMap<string, Asset> = new Map(
  ['app.js', 'tree.js', 'detail.js', 'histories.js', 'timeline.js', 'app.css', 'icon.svg'].map(
    (name) => [
      `/${name}`,
      { type: TYPES[name.split('.')[1] as string] as string, body: read(name) },
    ],
  ),
);

const PAGE = read('index.html');

/** @param token the token that forced releases need; empty for a page that may only read */
export function page(token: string): string {
  return PAGE.replace('{{token}}', token);
}
