// What an editor proposes in a program, from the language service of TypeScript.
import ts from 'typescript'
import { root, type Source, settingsFor } from './compiler.ts'

export class Editor {
  readonly #service: ts.LanguageService
  readonly #texts: Map<string, string>
  #version = 0

  constructor(sources: readonly Source[]) {
    this.#texts = new Map(sources.map(({ file, text }) => [file, text]))
    const settings = settingsFor('sources')
    this.#service = ts.createLanguageService({
      getCurrentDirectory: () => root,
      getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
      readFile: (name) => ts.sys.readFile(name),
      fileExists: (name) => this.#texts.has(name) || ts.sys.fileExists(name),
      directoryExists: (name) => ts.sys.directoryExists(name),
      getCompilationSettings: () => settings,
      getScriptFileNames: () => [...this.#texts.keys()],
      getScriptVersion: (name) => (this.#texts.has(name) ? String(this.#version) : '1'),
      getScriptSnapshot: (name) => {
        const content = this.#texts.get(name) ?? ts.sys.readFile(name)
        return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content)
      },
    })
  }

  /** What is proposed in place of `written`, where it first follows `after`. Throws where the program does not have them. */
  proposals({ file, text }: Source, after: string, written: string): readonly string[] {
    const at = text.indexOf(after + written) + after.length
    if (at < after.length) throw new Error(`${file} does not have ${after}${written}`)
    this.#texts.set(file, text.slice(0, at) + text.slice(at + written.length))
    this.#version++
    const found = this.#service.getCompletionsAtPosition(file, at, {})?.entries ?? []
    this.#texts.set(file, text)
    return found.map(({ name }) => name)
  }
}
