/**
 * Compiles programs in one process, as `tsc --noEmit` does, and prints their errors as JSON.
 *
 *   node compile.cjs [{ "module": …, "moduleResolution": …, "files": [ … ] }, …]
 *
 * It checks the files and the declarations of the packages of this repository. To check those of
 * Node and of the language too takes most of the time of `tsc`.
 */
const ts = require('typescript');

/** Of Node and of the language: the same in every program, so each is parsed once. */
const foreign = /\/(?:typescript\/lib|@types|undici-types)\//;
const parsed = new Map();

function hostFor(options) {
  const host = ts.createCompilerHost(options, true);
  const read = host.getSourceFile;
  host.getSourceFile = (path, how, ...more) => {
    if (!foreign.test(path)) return read(path, how, ...more);
    const key = `${path} ${how.impliedNodeFormat}`;
    if (!parsed.has(key)) parsed.set(key, read(path, how, ...more));
    return parsed.get(key);
  };
  return host;
}

function errorsOf({ files, ...given }) {
  const words = { strict: true, noEmit: true, target: 'es2022', lib: ['es2022'], types: ['node'] };
  const made = ts.convertCompilerOptionsFromJson({ ...words, ...given }, process.cwd());
  const program = ts.createProgram(files, made.options, hostFor(made.options));
  const found = [
    ...made.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
  ];
  for (const file of program.getSourceFiles()) {
    if (foreign.test(file.fileName)) continue;
    found.push(...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file));
  }
  return found.map(({ code, messageText, file }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName ?? ''}: TS${code}: ${text}`;
  });
}

console.log(JSON.stringify(JSON.parse(process.argv[2]).map(errorsOf)));
