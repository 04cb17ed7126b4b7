/** Which files may write which fields: the headers that promise "only this file writes" hold. */
import { isNode, place, propertyName, type SourceFile, type SyntaxNode, walk } from './syntax.js';

const SOURCES = 'packages/holdfast/src/';
const CHANGES = /^(set|delete|clear|add|push|pop|shift|splice)$/;

interface Owned {
  /** The files in which the names mean these fields. */
  readonly files: RegExp;
  /** The files that may write them. */
  readonly writers: RegExp;
  readonly fields: RegExp;
  /** Maps, sets and lists: only the writers change them. */
  readonly collections?: RegExp;
}

const OWNED: readonly Owned[] = [
  {
    files: /^engine\//,
    writers: /^engine\/(resource|saved)\.ts$/,
    fields: new RegExp(
      `^(${[
        ...['capacity', 'fence', 'used', 'lastTicket', 'fairWaiting', 'latest', 'forgetAt'],
        ...['weight', 'handOffs', 'expires', 'signalled', 'sent', 'channel', 'token'],
      ].join('|')})$`,
    ),
    collections: /^(holders|waiters|queue|owners|holds)$/,
  },
  {
    files: /^engine\//,
    writers: /^engine\/(gates?|saved)\.ts$/,
    fields: /^(count|generation|left|endsAt|retention|pastGeneration|past|arrivals)$/,
    collections: /^(broken|arrivals|past|channels)$/,
  },
  {
    files: /./,
    writers: /^lease\/root\.ts$/,
    fields: /^(state|reason)$/,
  },
  {
    files: /./,
    writers: /^lease\/root\.ts$/,
    fields: /^(storeUntil|hold)$/,
  },
];

/** Writes to a field of another file's objects. A class may write its own fields. */
export function foreignWrites(file: SourceFile): string[] {
  if (!file.path.startsWith(SOURCES)) return [];
  const own = file.path.slice(SOURCES.length);
  const owned = OWNED.filter(({ files, writers }) => files.test(own) && !writers.test(own));
  const problems: string[] = [];
  walk(file, (node) => {
    const field = writtenBy(node);
    const changed = changedBy(node);
    for (const { fields, collections } of owned) {
      if (field !== undefined && fields.test(field))
        problems.push(`${place(file, node)}: ${field}`);
      if (changed !== undefined && collections?.test(changed) === true)
        problems.push(`${place(file, node)}: ${changed}`);
    }
  });
  return problems;
}

/** The field that an assignment, `++` or `delete` writes, unless it is a field of `this`. */
function writtenBy(node: SyntaxNode): string | undefined {
  if (node.type === 'AssignmentExpression') return fieldOf(node['left']);
  const unary = node.type === 'UnaryExpression' && node['operator'] === 'delete';
  return unary || node.type === 'UpdateExpression' ? fieldOf(node['argument']) : undefined;
}

/** The collection that a call changes, as in `resource.holders.delete(id)`. */
function changedBy(node: SyntaxNode): string | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = node['callee'];
  if (!isNode(callee) || callee.type !== 'MemberExpression') return undefined;
  return CHANGES.test(propertyName(callee) ?? '') ? fieldOf(callee['object']) : undefined;
}

function fieldOf(target: unknown): string | undefined {
  if (!isNode(target) || target.type !== 'MemberExpression') return undefined;
  const object = target['object'];
  return isNode(object) && object.type === 'ThisExpression' ? undefined : propertyName(target);
}

/** The file of the store that gives a lease back: of a waiter that no server's push reached. */
const GIVES_BACK = 'store/register/unheard.ts';

/** Releases by a store: it does not know which leases a caller has by another answer. */
export function foreignReleases(file: SourceFile): string[] {
  if (!file.path.startsWith(`${SOURCES}store/`) || file.path.endsWith(GIVES_BACK)) return [];
  const problems: string[] = [];
  walk(file, (node) => {
    if (node.type !== 'Property') return;
    const { key, value } = node as Readonly<Record<string, unknown>>;
    const isOp = isNode(key) && key['name'] === 'op';
    if (isOp && isNode(value) && value['value'] === 'release') problems.push(place(file, node));
  });
  return problems;
}
