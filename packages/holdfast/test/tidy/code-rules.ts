/** Rules about what code may name. */
import {
  isMemberName,
  isNode,
  place,
  propertyName,
  type SourceFile,
  type SyntaxNode,
  specifierOf,
  walk,
} from './syntax.js';

const CLOCKS = /^(Date|performance|setTimeout|setInterval|setImmediate)$/;
const CLOCK_MEMBERS = /^(process\.hrtime|AbortSignal\.timeout)$/;
const CLOCK_MODULES = /^(node:)?(timers|timers\/promises|perf_hooks)$/;
const CLIENTS = /^(ioredis|ioredis-5|redis|redis-5|iovalkey|@redis\/.*|@valkey\/.*)$/;
const CLIENT_NAMES = /ioredis|node-?redis|iovalkey|@redis\/|@valkey\/|valkey-glide/i;
const TEST_FUNCTIONS = /^(it|test|describe|suite|bench)$/;
const TEST_FLAGS = /^(only|skip|todo)$/;

/** Only `clock.ts` uses a clock. All other code receives one, so a simulation controls time. */
export function clocks(file: SourceFile): string[] {
  return search(file, (node, parent) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) return CLOCK_MODULES.test(specifier) ? specifier : undefined;
    if (node.type === 'Identifier' && CLOCKS.test(String(node['name']))) {
      return isMemberName(node, parent) ? undefined : String(node['name']);
    }
    const member = memberOf(node);
    if (member === undefined) return undefined;
    const [object, property] = member;
    const ofGlobal = object === 'globalThis' && CLOCKS.test(property);
    const full = `${object}.${property}`;
    return ofGlobal || CLOCK_MEMBERS.test(full) ? full : undefined;
  });
}

/** No import of a client, not even of its types: users install only one of the clients. */
export function clientImports(file: SourceFile): string[] {
  return search(file, (node) => {
    const specifier = specifierOf(node) ?? requiredBy(node);
    return specifier !== undefined && CLIENTS.test(specifier) ? specifier : undefined;
  });
}

/** Outside `clients/`, code names no client. The layer rule checks the paths of imports. */
export function clientNames(file: SourceFile): string[] {
  const paths = new Set<unknown>();
  return search(file, (node, parent) => {
    if (specifierOf(node) !== undefined) paths.add(node);
    if (paths.has(parent)) paths.add(node);
    if (paths.has(node)) return undefined;
    const text = textOf(node);
    return text !== undefined && CLIENT_NAMES.test(text) ? text : undefined;
  });
}

/** A library does not write to its user's console. */
export function consoles(file: SourceFile): string[] {
  return search(file, (node, parent) => {
    const named = node.type === 'Identifier' && node['name'] === 'console';
    return named && !isMemberName(node, parent) ? 'console' : undefined;
  });
}

/** No test is skipped, and no test excludes the others. */
export function testFlags(file: SourceFile): string[] {
  return search(file, (node) => {
    if (node.type !== 'MemberExpression') return undefined;
    const flag = propertyName(node);
    if (flag === undefined || !TEST_FLAGS.test(flag)) return undefined;
    let base = node['object'];
    while (isNode(base) && base.type === 'MemberExpression') base = base['object'];
    const name = isNode(base) ? String(base['name']) : '';
    return TEST_FUNCTIONS.test(name) ? `${name}.${flag}` : undefined;
  });
}

type Find = (node: SyntaxNode, parent: SyntaxNode | undefined) => string | undefined;

function search(file: SourceFile, find: Find): string[] {
  const problems: string[] = [];
  walk(file, (node, parent) => {
    const found = find(node, parent);
    if (found !== undefined) problems.push(`${place(file, node)}: ${found}`);
  });
  return problems;
}

function memberOf(node: SyntaxNode): [string, string] | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const object = node['object'] as SyntaxNode;
  const property = propertyName(node);
  if (object.type !== 'Identifier' || property === undefined) return undefined;
  return [String(object['name']), property];
}

function requiredBy(node: SyntaxNode): string | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = node['callee'] as SyntaxNode;
  const [argument] = node['arguments'] as SyntaxNode[];
  return callee['name'] === 'require' ? String(argument?.['value']) : undefined;
}

function textOf(node: SyntaxNode): string | undefined {
  if (node.type === 'Identifier') return String(node['name']);
  if (node.type === 'Literal') return String(node['value']);
  if (node.type !== 'TemplateElement') return undefined;
  return (node['value'] as { raw: string }).raw;
}
