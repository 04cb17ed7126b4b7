/** How much there is to read: pages for users, and comments of the library. */
import { parseSync } from 'oxc-parser';
import type { SourceFile } from './syntax.js';

/** Bytes that `docs/*.md` may have in sum. Evidence is in `verification/`. */
export const PAGES_LIMIT = 190_000;

/** The bytes of the pages for users: those directly in `docs`, so no decisions. */
export function pageBytes(files: readonly SourceFile[]): number {
  const pages = files.filter(({ path }) => /^docs\/[^/]+\.md$/.test(path));
  return pages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

/** Words that the comments in `packages/holdfast/src` may have in sum, of TypeScript and Lua. */
export const COMMENTS_LIMIT = 48_000;

/** The words in the comments of the files. */
export function commentWords(files: readonly SourceFile[]): number {
  const comments = files.flatMap((file) =>
    file.path.endsWith('.lua')
      ? (file.text.match(/--\[\[[^]*?\]\]|--[^\n]*/g) ?? [])
      : parseSync(file.path, file.text).comments.map(({ value }) => value),
  );
  return comments.reduce((sum, text) => sum + (text.match(/[A-Za-z][\w'’-]*/g)?.length ?? 0), 0);
}
