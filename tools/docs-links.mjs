/**
 * Links of generated pages to pages that do not exist.
 * @param {ReadonlyMap<string, string>} pages the text of each page by its file name
 * @returns {string[]}
 */
export function deadPageLinks(pages) {
  return [...pages].flatMap(([file, text]) =>
    [...text.matchAll(/\]\(\.\/([^)#]+)/g)]
      .filter(([, link]) => !pages.has(String(link)))
      .map(([, link]) => `${file}: no page ${link}`),
  );
}
