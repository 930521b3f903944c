// `annal import` and `annal export` in this process, because there are many small ones.
import { type ExportOptions, exportCollection } from '../src/commands/export.ts'
import { type ImportOptions, importInto } from '../src/commands/import.ts'
import { silentBar } from '../src/progress-bar.ts'
import type { Terminal } from '../src/terminal.ts'

/** Nothing listens there; commands without a data directory must name a server. */
const nowhere = 'http://127.0.0.1:1'

/** Records the messages. */
export function silent(): { readonly terminal: Terminal; readonly said: readonly string[] } {
  const said: string[] = []
  const say = (text: string) => {
    said.push(text)
  }
  return { terminal: { line: say, say, bar: silentBar }, said }
}

export function importing(
  collection: string,
  source: string,
  options: Partial<ImportOptions>,
  terminal: Terminal = silent().terminal,
): Promise<number> {
  const usual = { server: nowhere, field: 'dense', column: [], precision: 'int8', skip: 0, batch: 500 }
  return importInto(collection, source, { ...usual, ...options }, terminal)
}

export function exporting(
  collection: string,
  options: Partial<ExportOptions>,
  terminal: Terminal = silent().terminal,
): Promise<number> {
  return exportCollection(collection, { server: nowhere, ...options }, terminal)
}
