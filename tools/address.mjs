/**
 * The public address of the project, for the manifest of a release: `repository`, `homepage` and
 * `bugs`. It comes from the option `--repository` or from the git remote `origin`, and is never
 * invented.
 */

/**
 * @typedef {object} Address
 * @property {{ type: 'git', url: string }} repository
 * @property {string} homepage
 * @property {{ url: string }} bugs
 */

const ADVICE = 'name the public address of the project with --repository https://HOST/PATH';

/**
 * The fields of the manifest.
 * @param {string | undefined} option the value of `--repository`
 * @param {string | undefined} origin the address of the git remote `origin`
 * @returns {Address}
 */
export function addressOf(option, origin) {
  const given = option ?? origin;
  if (given === undefined) throw new Error(`there is no git remote "origin": ${ADVICE}`);
  const problem = problemOf(given);
  if (problem !== undefined) {
    // a remote may contain a password, so it is not shown
    const what = option === undefined ? 'the git remote "origin"' : `--repository ${option}`;
    throw new Error(`${what} ${problem}: ${ADVICE}`);
  }
  const page = given.replace(/\/+$/, '').replace(/\.git$/, '');
  return {
    repository: { type: 'git', url: `git+${page}.git` },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
  };
}

/**
 * Why an address is not that of a public repository; `undefined` if it may be.
 * @param {string} address
 * @returns {string | undefined}
 */
function problemOf(address) {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:') return 'is not an https address';
  if (url.username !== '' || url.password !== '') return 'contains a user or a password';
  if (url.search !== '' || url.hash !== '') return 'has a query or a fragment';
  if (url.pathname === '/') return 'has no path';
  const name = url.hostname;
  const number = /^[\d.]+$|^\[/.test(name);
  const inside = !name.includes('.') || /\.(local|localhost|internal|lan|test|invalid)$/.test(name);
  return number || inside || url.port !== '' ? 'is not a public host' : undefined;
}

/**
 * The manifest with its address. Without an address it is private, so it cannot be published.
 * @template {object} Manifest
 * @param {Manifest} manifest
 * @param {Address | undefined} address
 */
export function withAddress(manifest, address) {
  return { ...manifest, ...(address ?? { private: true }) };
}
