// The two files of judged queries, as somebody drops or chooses them: which is which is visible in their first line.
import type { NamedLines } from '@annal/client/judging'
import { bytes } from '../../show.ts'

export interface TextFile {
  readonly name: string
  readonly text: string
}

export interface JudgedFiles {
  readonly queries?: TextFile
  readonly grades?: TextFile
}

export const accepted = '.jsonl,.ndjson,.json,.tsv,.txt,.qrels'

/** A file is in the memory of the page as a whole. */
const bytesMax = 64 * 1024 * 1024

/** Adds files to those that are there; a new one replaces the earlier one of its kind. Throws a readable error. */
export async function withFiles(files: readonly File[], before: JudgedFiles): Promise<JudgedFiles> {
  let judged = before
  for (const file of files) {
    if (file.size > bytesMax)
      throw new Error(`${file.name} has ${bytes(file.size)}, more than ${bytes(bytesMax)}; use annal evaluate`)
    const read = { name: file.name, text: await file.text() }
    if (read.text.trim() === '') throw new Error(`${file.name} is empty`)
    judged = hasQueries(read) ? { ...judged, queries: read } : { ...judged, grades: read }
  }
  return judged
}

/** Queries are objects as JSON, and judgments are columns. */
function hasQueries({ text }: TextFile): boolean {
  return text.trimStart().startsWith('{')
}

export function linesOf({ name, text }: TextFile): NamedLines {
  return { name, lines: text.split(/\r?\n/) }
}
