/**
 * Links of the pages that a package has. A page that is not in the package is at the public address
 * of the project; without an address only the text of the link stays.
 */
import { posix } from 'node:path';

const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|#)/i;

/**
 * @param {string} text the page
 * @param {object} where
 * @param {string} where.file its path in the package
 * @param {ReadonlySet<string>} where.shipped the files of the package
 * @param {string | undefined} where.source the address of the files of this version
 */
export function withLinks(text, { file, shipped, source }) {
  return text.replace(LINK, (whole, image, label, target) => {
    if (ELSEWHERE.test(target)) return whole;
    const [path = '', anchor] = target.split('#', 2);
    const found = posix.join(posix.dirname(file), path);
    if (shipped.has(found)) return whole;
    if (source === undefined) return label;
    return `${image}[${label}](${source}/${found}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

/**
 * The targets of a page that lead to no file of the package.
 * @param {string} text
 * @param {{ file: string, shipped: ReadonlySet<string> }} where
 * @returns {string[]}
 */
export function deadLinks(text, { file, shipped }) {
  const targets = [...text.matchAll(LINK)].map(([, , , target]) => String(target));
  return targets.filter((target) => {
    const path = target.split('#', 1)[0] ?? '';
    return !ELSEWHERE.test(target) && !shipped.has(posix.join(posix.dirname(file), path));
  });
}
