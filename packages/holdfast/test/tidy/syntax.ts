/** What the tidy rules read from the syntax tree. Comments are not part of the tree. */
import { parseSync } from 'oxc-parser';

/** A file of the repository. The path is relative to its root, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** An untyped node of the syntax tree. The rules use few kinds of nodes. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export type Visit = (node: SyntaxNode, parent: SyntaxNode | undefined) => void;

const parsed = new WeakMap<SourceFile, SyntaxNode>();

function parse(file: SourceFile): SyntaxNode {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const { program, errors } = parseSync(file.path, file.text);
  if (errors.length > 0) throw new Error(`${file.path}: ${errors[0]?.message}`);
  const tree = program as unknown as SyntaxNode;
  parsed.set(file, tree);
  return tree;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Visits every node, parents first. */
export function walk(file: SourceFile, visit: Visit): void {
  const step = (node: SyntaxNode, parent: SyntaxNode | undefined): void => {
    visit(node, parent);
    for (const child of Object.values(node).flat()) {
      if (isNode(child)) step(child, node);
    }
  };
  step(parse(file), undefined);
}

/** The position of a node, as `path:line`. */
export function place(file: SourceFile, node: SyntaxNode): string {
  return `${file.path}:${file.text.slice(0, node.start).split('\n').length}`;
}

/** The name of a property that is written as `.name` or `['name']`. */
export function propertyName(member: SyntaxNode): string | undefined {
  const property = member['property'] as SyntaxNode;
  if (property.type === 'Literal') return String(property['value']);
  return member['computed'] === true ? undefined : String(property['name']);
}

/** True if a node only names a member (`x.name`, `{ name: 1 }`) and is not a variable. */
export function isMemberName(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent === undefined || parent['computed'] === true || parent['shorthand'] === true) {
    return false;
  }
  return parent['property'] === node || (parent['key'] === node && parent['value'] !== node);
}

/** The module of an import, an export-from, `import()` or an import type, otherwise undefined. */
export function specifierOf(node: SyntaxNode): string | undefined {
  const kinds = /^(Import(Declaration|Expression)|Export(All|Named)Declaration|TSImportType)$/;
  if (!kinds.test(node.type)) return undefined;
  const source = node['source'];
  return isNode(source) && typeof source['value'] === 'string' ? source['value'] : undefined;
}
