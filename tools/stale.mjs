/** Deletes what the compiler made of sources that are gone: it leaves them in `dist`. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const OUTPUT = /\.(?:js|d\.ts)(?:\.map)?$/;

const projects = ['packages', 'verification'].flatMap((folder) =>
  readdirSync(folder).map((name) => join(folder, name)),
);

for (const project of [...projects, 'bench', 'examples']) {
  const dist = join(project, 'dist');
  if (!existsSync(dist)) continue;
  for (const entry of readdirSync(dist, { recursive: true })) {
    const path = String(entry);
    const isStale =
      OUTPUT.test(path) && !existsSync(join(project, 'src', path.replace(OUTPUT, '.ts')));
    if (!isStale) continue;
    rmSync(join(dist, path));
    console.log(`${join(dist, path)} has no source any more: deleted`);
  }
}
