#!/usr/bin/env node
/** The program `holdfast`. */
import { CommanderError } from 'commander';
import { EXIT, type Failure, failureOf, usage } from './failure.js';
import { Notes } from './notes.js';
import { createProgram, split } from './program.js';
import { endWithReader } from './view/output.js';
import { withoutPasswords } from './view/words.js';

async function main(args: readonly string[]): Promise<number> {
  const { own, rest } = split(args);
  let code = 0;
  const program = createProgram(rest, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    // help and version are exceptions too
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // without a command, the help is on standard error
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    const failure = error instanceof CommanderError ? wrongUse(error) : failureOf(error);
    const has = (...names: string[]): boolean => names.some((name) => own.includes(name));
    const notes = new Notes({ json: has('--json'), verbose: has('-v', '--verbose') });
    const { exitCode, message } = failure;
    // -E 0: a lock that is not free is no failure
    if (exitCode === 0) notes.event('skipped', message, { message });
    else notes.failure(failure);
    return exitCode;
  }
}

function wrongUse({ code, message }: CommanderError): Failure {
  const [first = '', ...more] = withoutPasswords(message)
    .replace(/^error: /, '')
    .split('\n');
  const hint = more.length === 0 ? '' : ` ${more.join(' ')}`;
  const isCommand = code === 'commander.excessArguments' && /'(run|once|lead)'/.test(first);
  return usage(
    `${first}${hint}`,
    isCommand
      ? 'write -- before the command: holdfast run KEY -- command arguments'
      : 'holdfast help shows the commands, and --help of each its options',
  );
}

endWithReader();
const code = await main(process.argv.slice(2));
// Standard output may be a pipe that is still written to: the process ends when that is done.
process.exitCode = code;
setTimeout(() => process.exit(code), 1000).unref();
