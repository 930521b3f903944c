// Errors and completions of the editor. All programs are one program of the TypeScript API, so the library is read once.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import ts from 'typescript'
import { preamble, right, wrong } from './programs.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const root = path.join(folder, '../../../..')
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile).config,
  ts.sys,
  root,
)
/** Programs have unused variables; the declarations of the libraries are checked, too. */
const settings = { ...options, noUnusedLocals: false, noUnusedParameters: false, skipLibCheck: false }

interface Source {
  readonly file: string
  readonly text: string
  /** Range that must be marked: start, end. */
  readonly marked: readonly [number, number] | undefined
}

const sources = new Map<string, Source>()
for (const [kind, programs] of Object.entries({ right, wrong })) {
  for (const [i, program] of programs.entries()) {
    const file = path.join(folder, `${kind}-${i}.ts`)
    const marks = [program.indexOf('‹'), program.indexOf('›') - 1].map((at) => at + preamble.length)
    const text = preamble + program.replace(/[‹›]/g, '')
    sources.set(file, { file, text, marked: kind === 'wrong' ? [marks[0] as number, marks[1] as number] : undefined })
  }
}

const host = ts.createCompilerHost(settings)
const { fileExists, readFile, getSourceFile } = host
host.fileExists = (file) => sources.has(file) || fileExists(file)
host.readFile = (file) => sources.get(file)?.text ?? readFile(file)
host.getSourceFile = (file, version, ...more) => {
  const source = sources.get(file)
  return source ? ts.createSourceFile(file, source.text, version, true) : getSourceFile(file, version, ...more)
}
const program = ts.createProgram([...sources.keys()], settings, host)

function errorsIn(source: Source): { readonly at: string; readonly from: number; readonly message: string }[] {
  const file = program.getSourceFile(source.file)
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((found) => ({
    at: source.text.slice(found.start, (found.start ?? 0) + (found.length ?? 0)),
    from: found.start ?? 0,
    message: ts.flattenDiagnosticMessageText(found.messageText, ' '),
  }))
}

test('correct programs compile', async (t) => {
  t.ok(right.length >= 20, `${right.length} programs`)
  for (const [i, text] of right.entries()) {
    const source = sources.get(path.join(folder, `right-${i}.ts`)) as Source
    t.same(errorsIn(source), [], text.split('\n')[0] as string)
  }
})

test('in wrong programs exactly the error is marked', async (t) => {
  t.ok(wrong.length >= 20, `${wrong.length} programs`)
  for (const [i, text] of wrong.entries()) {
    const source = sources.get(path.join(folder, `wrong-${i}.ts`)) as Source
    const [from, to] = source.marked as readonly [number, number]
    const wanted = [{ at: source.text.slice(from, to), from }]
    t.same(
      errorsIn(source).map(({ at, from }) => ({ at, from })),
      wanted,
      text,
    )
  }
})

test("the README's embedded program has completions for its own fields", async (t) => {
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8')
  const code = readme.slice(readme.indexOf('```ts\nimport { openEngine }') + 6)
  const file = path.join(folder, 'readme.ts')
  let text = code.slice(0, code.indexOf('```'))
  let version = 0
  const service = ts.createLanguageService({
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
    readFile: (name) => host.readFile(name),
    directoryExists: (name) => ts.sys.directoryExists(name),
    getCompilationSettings: () => settings,
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(version) : '1'),
    getScriptSnapshot: (name) => {
      const content = name === file ? text : host.readFile(name)
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content)
    },
    fileExists: (name) => name === file || host.fileExists(name),
  })
  t.same(
    service.getSemanticDiagnostics(file).map(({ messageText }) => messageText),
    [],
  )
  const whole = text
  /** The completions of the editor for `written`, at its first occurrence after `after`. */
  const completionsFor = (after: string, written: string): string[] => {
    const at = whole.indexOf(after) + after.length
    t.equal(whole.slice(at, at + written.length), written, `${written} follows ${after}`)
    text = whole.slice(0, at) + whole.slice(at + written.length)
    version++
    return (service.getCompletionsAtPosition(file, at, {})?.entries ?? []).map(({ name }) => name)
  }
  t.same(completionsFor("'William Blake' }, fields: { ", 'text: [0.1, 0.9, 0.4]'), ['text'])
  t.same(completionsFor('poems.search({ fields: { ', 'text: { query: [0, 1, 0.5], limit: 3 }'), ['text'])
  t.same(completionsFor('results.', 'text'), ['text'])
  t.same(completionsFor('query: [0, 1, 0.5], ', 'limit: 3').sort(), ['ef', 'limit', 'scoreThreshold'])
  t.ok(completionsFor('dimension: 3, ', "spaceType: 'cosine'").includes('spaceType'))
})
