/** Prints the sizes of bundled programs. They do not depend on the machine or the server. */
import { BUNDLES, bundleSize } from 'holdfast-testkit';

const KB = 1024;

export async function printSizes(): Promise<void> {
  console.log('size of bundled programs, in KB of 1,024 bytes');
  for (const { title, program, target } of Object.values(BUNDLES)) {
    const size = await bundleSize(program);
    const figures = (['minified', 'compressed'] as const).map((what) => {
      const most = target[what];
      const wanted = most === undefined ? '' : ` (target ${most / KB}${judge(size[what], most)})`;
      return `${what} ${(size[what] / KB).toFixed(1)}${wanted}`;
    });
    const { minified, compressed } = size.complete;
    const all = `${(minified / KB).toFixed(1)} and ${(compressed / KB).toFixed(1)} in one file`;
    console.log(`  ${title.padEnd(16)} ${figures.join(', ')}; ${all}`);
  }
  console.log();
}

function judge(value: number, most: number): string {
  return value <= most ? ': met' : ': NOT MET';
}
