/** Rules about the text of files, whatever is written in them. */
import { posix } from 'node:path';
import type { SourceFile } from './syntax.js';

const MAX_WIDTH = 100;
const MAX_LINES = 300;
const MAX_FUNCTION = 70;

/** Lines up to 100 columns. A table row or an address in Markdown cannot be broken. */
export function wideLines(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const unbreakable = file.path.endsWith('.md') && /^\s*\||https?:\/\//.test(line);
    const wide = line.length > MAX_WIDTH && !unbreakable;
    return wide ? [`${file.path}:${index + 1}: ${line.length} columns`] : [];
  });
}

/** Lua files up to 300 lines, their functions up to 70. For TypeScript, the linter sees to it. */
export function longLua(file: SourceFile): string[] {
  const problems: string[] = [];
  const lines = file.text.trimEnd().split('\n');
  if (lines.length > MAX_LINES) problems.push(`${file.path}: ${lines.length} lines`);
  lines.forEach((line, index) => {
    if (!/^(local )?function\b|^local \w+ = function\b/.test(line)) return;
    // What is not nested begins and ends at the left margin.
    const length = lines.slice(index).findIndex((end) => /\bend\)?$/.test(end) && /^\S/.test(end));
    if (length + 1 > MAX_FUNCTION) {
      problems.push(`${file.path}:${index + 1}: function of ${length + 1} lines`);
    }
  });
  return problems;
}

/** No path that exists on one developer's machine only. */
export function machinePaths(file: SourceFile): string[] {
  const found = file.text.match(/(?<![\w.~-])\/(home|Users|root|work)\/[\w.-]+|[A-Z]:\\Users\\/);
  return found === null ? [] : [`${file.path}: ${found[0]}`];
}

/** No address of a registry in the lock file: it would be the one of whoever wrote it. */
export function lockedHosts(file: SourceFile): string[] {
  const found = file.text.match(/"resolved": "https?:[^"]*"/);
  return found === null ? [] : [`${file.path}: ${found[0]}`];
}

/** Relative links of a document lead to what the repository has: files, or folders of them. */
export function deadLinks(file: SourceFile, paths: ReadonlySet<string>): string[] {
  const text = file.text.replace(/`[^`\n]*`/g, '').replace(/^```[^]*?^```/gm, '');
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const to = posix.join(posix.dirname(file.path), link).replace(/\/$/, '');
    const there = paths.has(to) || [...paths].some((path) => path.startsWith(`${to}/`));
    return there ? [] : [`${file.path}: ${link}`];
  });
}
