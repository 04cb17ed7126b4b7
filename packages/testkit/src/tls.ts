/** A temporary certificate authority and a certificate for this machine, valid for a day. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { guardFolder, removeFolder } from './guardian.js';

const run = promisify(execFile);

/** PEM texts: `ca` is for the client, `cert` and `key` are for the server. */
export interface Certificate {
  ca: string;
  cert: string;
  key: string;
}

// creating an elliptic-curve key takes a millisecond, an RSA key a large part of a second
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A certificate for 127.0.0.1 and localhost. Needs the `openssl` command. */
export async function makeCertificate(): Promise<Certificate> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
  guardFolder(folder);
  const openssl = (...args: string[]): Promise<unknown> => run('openssl', args, { cwd: folder });
  try {
    // a separate configuration: the machine's may be missing or add extensions
    writeFileSync(
      join(folder, 'openssl.cnf'),
      '[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:true\n' +
        'keyUsage=critical,keyCertSign\n' +
        '[server]\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n' +
        'extendedKeyUsage=serverAuth,clientAuth\n',
    );
    const authority = ['-x509', '-extensions', 'ca', '-days', '1', '-subj', '/CN=holdfast test'];
    const config = ['-config', 'openssl.cnf'];
    await openssl('req', ...config, ...KEY, ...authority, '-keyout', 'ca.key', '-out', 'ca.crt');
    const request = ['-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr'];
    await openssl('req', ...config, ...KEY, ...request);
    const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-set_serial', '1', '-days', '1'];
    const extensions = ['-extfile', 'openssl.cnf', '-extensions', 'server'];
    const files = ['-in', 'server.csr', '-out', 'server.crt'];
    await openssl('x509', '-req', ...files, ...signing, ...extensions);
    const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
    return { ca: read('ca.crt'), cert: read('server.crt'), key: read('server.key') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error('TLS tests need the `openssl` command; install openssl', { cause: error });
  } finally {
    removeFolder(folder);
  }
}
