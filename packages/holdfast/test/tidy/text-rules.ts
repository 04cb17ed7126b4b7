/** Rules about the text of files of any kind. */
import { posix } from 'node:path';
import type { SourceFile } from './syntax.js';

const MAX_WIDTH = 100;
const MAX_LINES = 400;
const MAX_FUNCTION = 70;

/** Lines up to 100 columns. A table row or an address in Markdown cannot be broken. */
export function wideLines(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const unbreakable = file.path.endsWith('.md') && /^\s*\||https?:\/\//.test(line);
    const wide = line.length > MAX_WIDTH && !unbreakable;
    return wide ? [`${file.path}:${index + 1}: ${line.length} columns`] : [];
  });
}

/** Lua files up to 400 lines, functions up to 70. The linter checks TypeScript. */
export function longLua(file: SourceFile): string[] {
  const problems: string[] = [];
  const lines = file.text.trimEnd().split('\n');
  if (lines.length > MAX_LINES) problems.push(`${file.path}: ${lines.length} lines`);
  lines.forEach((line, index) => {
    if (!/^(local )?function\b|^local \w+ = function\b/.test(line)) return;
    // A function that is not nested begins and ends at the left margin.
    const length = lines.slice(index).findIndex((end) => /\bend\)?$/.test(end) && /^\S/.test(end));
    if (length + 1 > MAX_FUNCTION) {
      problems.push(`${file.path}:${index + 1}: function of ${length + 1} lines`);
    }
  });
  return problems;
}

/** No path that exists only on one developer's machine. */
export function machinePaths(file: SourceFile): string[] {
  const found = file.text.match(/(?<![\w.~-])\/(home|Users|root|work)\/[\w.-]+|[A-Z]:\\Users\\/);
  return found === null ? [] : [`${file.path}: ${found[0]}`];
}

/** The lock file names no registry host, because hosts differ between developers. */
export function lockedHosts(file: SourceFile): string[] {
  const found = file.text.match(/"resolved": "https?:[^"]*"/);
  return found === null ? [] : [`${file.path}: ${found[0]}`];
}

const DATABASE = /\w*(?:redis|valkey|sentinel)\w*|\b(?:lua|evalsha|eval|\w*pub\/?sub)\b/i;
/** The codes with which a server begins its error replies, and which are words of this field. */
const ERROR_CODES = new RegExp(
  `\\b(?:${[
    ...['LOADING', 'READONLY', 'MASTERDOWN', 'TRYAGAIN', 'CLUSTERDOWN', 'NOREPLICAS', 'MISCONF'],
    ...['NOSCRIPT', 'BUSY', 'OOM', 'MOVED', 'ASK', 'WRONGTYPE', 'NOPERM', 'NOAUTH', 'WRONGPASS'],
  ].join('|')})\\b`,
);

/** Above the store, neither code nor comments name the database behind it or its error codes. */
export function databaseNames(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const found = line.match(DATABASE) ?? line.match(ERROR_CODES);
    return found === null ? [] : [`${file.path}:${index + 1}: ${found[0]}`];
  });
}

/** Relative links of a document lead to files or folders of the repository. */
export function deadLinks(file: SourceFile, paths: ReadonlySet<string>): string[] {
  const text = file.text.replace(/`[^`\n]*`/g, '').replace(/^```[^]*?^```/gm, '');
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const to = posix.join(posix.dirname(file.path), link).replace(/\/$/, '');
    const there = paths.has(to) || [...paths].some((path) => path.startsWith(`${to}/`));
    return there ? [] : [`${file.path}: ${link}`];
  });
}
