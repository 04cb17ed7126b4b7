/** Which parts of the sources may import which. Dependencies point inwards. */
import { posix } from 'node:path';
import { place, type SourceFile, specifierOf, walk } from './syntax.js';

const SOURCES = 'packages/holdfast/src/';

interface Layer {
  /** The files that the rule covers. */
  readonly files: RegExp;
  /** If present, the only imports that these files may have. */
  readonly only?: RegExp;
  /** Imports that these files must not have. */
  readonly never?: RegExp;
}

const LAYERS: readonly Layer[] = [
  { files: /^base\//, only: /^base\/|^node:/ },
  { files: /^engine\//, only: /^engine\// },
  {
    files: /^store\/clients\//,
    only: new RegExp(
      '^(store/clients/|base/(abort|clock).ts$|' +
        'node:(events|dns/promises|diagnostics_channel)$)',
      'u',
    ),
  },
  {
    files: /^store\/port\.ts$/,
    only: /^(engine\/|base\/(text|clean-cause)\.ts$|store\/(finding|server-info)\.ts$)/,
  },
  { files: /^store\/memory\//, only: /^(engine\/|store\/(memory\/|port\.ts$)|base\/clock\.ts$)/ },
  {
    files: /^store\/register\//,
    only: new RegExp(
      '^(engine/|store/register/|store/(deadlines|finding|port|push-text|renew-singly)' +
        '.ts$|base/(clock|prefix).ts$|node:crypto$)',
      'u',
    ),
  },
  {
    files: /^store\/quorum\//,
    only: new RegExp(
      '^(engine/|store/(quorum|register)/|store/redis/(error-replies|proven-port).ts$|' +
        'store/(port|push-text|deadlines|server-info).ts$|store/clients/port.ts$|' +
        'base/(clock|prefix|retry).ts$|node:crypto$)',
      'u',
    ),
  },
  { files: /^store\/redis\//, never: /^store\/memory\// },
  { files: /^store\//, never: /^(observe|lease|acquire|primitives|instance)\// },
  {
    files: /^(observe|lease|acquire|primitives)\//,
    never: /^store\/(redis|memory|register|quorum|clients)\//,
  },
  { files: /^(observe|lease)\//, never: /^(primitives|instance)\// },
  { files: /^acquire\//, never: /^(primitives|instance)\// },
  // a locked method is given the instance, and uses its primitives
  { files: /^primitives\/(?!locked)/, never: /^instance\// },
  // a file at the root is an entry of the package
  { files: /^[a-z]+\//, never: /^[a-z-]+\.ts$/ },
];

/** Imports that leave a layer in the wrong direction. */
export function layering(file: SourceFile): string[] {
  if (!file.path.startsWith(SOURCES)) return [];
  const own = file.path.slice(SOURCES.length);
  const layers = LAYERS.filter((layer) => layer.files.test(own));
  const problems: string[] = [];
  walk(file, (node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return;
    const target = targetOf(own, specifier);
    if (layers.some((layer) => forbids(layer, target))) {
      problems.push(`${place(file, node)}: ${specifier}`);
    }
  });
  return problems;
}

function forbids(layer: Layer, target: string): boolean {
  const beyond = layer.only !== undefined && !layer.only.test(target);
  return beyond || (layer.never?.test(target) ?? false);
}

/** The imported file, relative to the sources, or the name of a package. */
function targetOf(own: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  return posix.join(posix.dirname(own), specifier).replace(/\.js$/, '.ts');
}
