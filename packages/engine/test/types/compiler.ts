// Compiles programs that exist only as text, as one program of the TypeScript API, so that the libraries are read once. Packages resolve
// to their sources or, as in a project of a user, to their built declarations.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export const root = fileURLToPath(new URL('../../../../', import.meta.url))

export interface Source {
  /** A path that no file has; imports are resolved from its folder. */
  readonly file: string
  readonly text: string
}

export interface Fault {
  /** The text that an editor marks, and where it begins. */
  readonly at: string
  readonly from: number
  readonly message: string
}

export type Mode = 'sources' | 'built'

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile).config,
  ts.sys,
  root,
)

/** Programs have variables that nothing reads; the libraries' own declarations are checked too. */
export function settingsFor(mode: Mode): ts.CompilerOptions {
  return {
    ...options,
    noUnusedLocals: false,
    noUnusedParameters: false,
    skipLibCheck: false,
    customConditions: mode === 'sources' ? ['annal-source'] : [],
  }
}

/** Parsed files that do not depend on the settings. */
const parsed = new Map<string, ts.SourceFile>()

export class Compiled {
  readonly program: ts.Program
  readonly #sources: ReadonlyMap<string, Source>

  constructor(sources: readonly Source[], mode: Mode) {
    this.#sources = new Map(sources.map((source) => [source.file, source]))
    const settings = settingsFor(mode)
    const host = ts.createCompilerHost(settings)
    const { fileExists, readFile, getSourceFile } = host
    host.fileExists = (file) => this.#sources.has(file) || fileExists(file)
    host.readFile = (file) => this.#sources.get(file)?.text ?? readFile(file)
    host.getSourceFile = (file, version, ...more) => {
      const source = this.#sources.get(file)
      if (source) return ts.createSourceFile(file, source.text, version, true)
      const known = file.endsWith('.d.ts') ? parsed.get(file) : undefined
      const found = known ?? getSourceFile(file, version, ...more)
      if (found) parsed.set(file, found)
      return found
    }
    this.program = ts.createProgram([...this.#sources.keys()], settings, host)
  }

  faultsIn(file: string): readonly Fault[] {
    const source = this.program.getSourceFile(file)
    const text = this.#sources.get(file)?.text ?? ''
    return [...this.program.getSyntacticDiagnostics(source), ...this.program.getSemanticDiagnostics(source)].map(
      ({ start = 0, length = 0, messageText }) => ({
        at: text.slice(start, start + length),
        from: start,
        message: ts.flattenDiagnosticMessageText(messageText, ' '),
      }),
    )
  }

  /** What a module of the program exports, by its name there. */
  exportsOf(file: string): ReadonlyMap<string, ts.Symbol> {
    const checker = this.program.getTypeChecker()
    const source = this.program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${file} is no module of the program`)
    return new Map(
      checker
        .getExportsOfModule(module)
        .map((found) => [found.name, found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found]),
    )
  }
}

/** Fails with what to do where the packages were not built. */
export function checkBuilt(): void {
  for (const name of ['engine', 'client'])
    if (!existsSync(path.join(root, 'packages', name, 'dist', 'index.d.ts')))
      throw new Error(`packages/${name}/dist has no declarations: run npm run build`)
}
